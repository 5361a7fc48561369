"""Which addresses and Host headers are this machine's own: what a browser sends for a foreign page is none of them."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/?#@\[\]]+)(?::\d*)?", re.IGNORECASE)


def host_name(host: str) -> str | None:
    """The name or address of a Host header, in lower case and without its port; None if it is no such header."""
    match = _HOST.fullmatch(host.strip())
    return None if match is None else match[1].rstrip(".").lower().strip("[]")


def is_local_name(name: str) -> bool:
    """Whether a name stands for this machine whatever a name server says: localhost, or an address of loopback."""
    return name == "localhost" or is_loopback(name)


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own; a name is none."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
