"""The server as a process of the machine: addresses, TLS, workers that share a port."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import urllib.request
from typing import TYPE_CHECKING

import pytest

from lineagelog.errors import SettingsError
from lineagelog.server import HttpServer, create_app
from tests.support import PATIENCE

from .client import LINEAGE, count, encoded, request
from .conftest import served

if TYPE_CHECKING:
    from pathlib import Path

    from lineagelog.store import LogStore


def test_port_in_use_is_one_line(store: LogStore) -> None:
    """A SettingsError that names the address."""
    with (
        served(create_app(store)) as server,
        pytest.raises(SettingsError, match=r"cannot listen on 127\.0\.0\.1:\d+: Address already in use"),
    ):
        HttpServer(create_app(store), port=int(server.url.rsplit(":", 1)[1]))


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "a" * 300])
def test_host_that_is_not_ours_is_one_line(store: LogStore, host: str) -> None:
    """Unknown, foreign or impossible names."""
    with pytest.raises(SettingsError, match=r"host|listen"):
        HttpServer(create_app(store), host=host, port=0)


def test_missing_tls_files_are_one_line(store: LogStore, tmp_path: Path) -> None:
    """The file is named."""
    with pytest.raises(SettingsError, match=r"none\.pem"):
        HttpServer(create_app(store), port=0, tls_certificate=tmp_path / "none.pem", tls_key=tmp_path / "none.key")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_tls(store: LogStore, tmp_path: Path) -> None:
    """With a certificate the server speaks https."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        str(key),
        "-out",
        str(certificate),
    ]
    subprocess.run([*command, *subject], check=True, capture_output=True)
    context = ssl.create_default_context(cafile=str(certificate))
    with served(create_app(store), tls_certificate=certificate, tls_key=key) as server:
        assert server.url.startswith("https://")
        post = urllib.request.Request(server.url + LINEAGE, data=encoded(), method="POST")
        with urllib.request.urlopen(post, context=context, timeout=PATIENCE) as answer:
            assert answer.status == 201
    assert count(store) == 1


def test_two_servers_share_a_port(store: LogStore) -> None:
    """With reuse_port several processes may listen on one address; the kernel spreads the connections."""
    with served(create_app(store), reuse_port=True) as first:
        port = int(first.url.rsplit(":", 1)[1])
        second = HttpServer(create_app(store), port=port, reuse_port=True)
        second.close()
        assert request(first.url, LINEAGE, encoded()).status == 201
