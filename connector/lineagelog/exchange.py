"""One request over HTTP whose answer is bounded: in bytes, and in time, also where it trickles in."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import httpx2

_OF_THE_WIRE: Final = frozenset(("content-encoding", "content-length", "transfer-encoding"))


def post(
    client: httpx2.Client, url: str, body: bytes, headers: Mapping[str, str], *, timeout: float, most: int
) -> httpx2.Response:
    """Post, and read the answer, ``most`` bytes of it. One that does not end within ``timeout`` s is a ReadTimeout.

    Raises what the client raises.
    """
    ends = time.monotonic() + timeout
    read = bytearray()
    with client.stream("POST", url, content=body, headers=headers) as response:
        for part in response.iter_bytes():
            read += part[: most - len(read)]
            if len(read) >= most:
                break
            if time.monotonic() > ends:
                raise httpx2.ReadTimeout("the answer does not end")
    # what was read is decoded already
    kept = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _OF_THE_WIRE]
    return httpx2.Response(response.status_code, headers=kept, content=bytes(read))
