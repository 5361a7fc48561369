"""Metrics of a consumer or daemon on a port of their own: for this machine's programs, not for a browser's pages."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from prometheus_client.registry import Collector

from lineagelog.metrics import served

if TYPE_CHECKING:
    from collections.abc import Iterator


class Nothing(Collector):
    """No metrics but the process' own."""

    def collect(self) -> Iterator:
        """None."""
        return iter(())


def asked(url: str, headers: dict[str, str]) -> tuple[int, str]:
    """The status and the text of the answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    connection.putrequest("GET", "/metrics", skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9464", "[::1]:9464", "LOCALHOST."])
def test_programs_of_this_machine_are_answered(host: str) -> None:
    """By any of its names."""
    with served(Nothing(), "127.0.0.1", 0) as url:
        status, text = asked(url, {"Host": host})
    assert status == 200
    assert "process_cpu_seconds_total" in text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:9464"},
        {"Host": "localhost", "Origin": "https://evil.example"},
        {"Host": "localhost", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_foreign_page_is_refused(headers: dict[str, str]) -> None:
    """Also one whose own name is resolved to loopback (DNS rebinding)."""
    with served(Nothing(), "127.0.0.1", 0) as url:
        status, text = asked(url, headers)
    assert (status, "process_cpu" in text) == (421, False)


def test_another_address_answers_by_any_name() -> None:
    """Who binds elsewhere wants to be scraped from there."""
    with served(Nothing(), "0.0.0.0", 0) as url:
        status, _ = asked(url.replace("0.0.0.0", "127.0.0.1"), {"Host": "worker-3.example:9464"})
    assert status == 200
