"""Templates to HTML: everything is escaped, and what stands in the page comes from this server alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lineagelog.server.answers import Headers, Reply

from . import address, words

_HERE: Final = Path(__file__).parent
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_SAFE: Final[Headers] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Assets:
    """The files of the page, in memory; their address changes with what is in them."""

    def __init__(self) -> None:
        files = sorted(file for file in (_HERE / "static").iterdir() if file.suffix in _TYPES)
        content = {file.name: file.read_bytes() for file in files}
        self.version = blake2b(b"".join(content.values()), digest_size=8).hexdigest()
        self.base = f"/static/{self.version}"
        self._replies = {name: self._reply(name, data) for name, data in content.items()}

    def get(self, version: str, name: str) -> Reply:
        """A file; 404 for one that there is not."""
        found = self._replies.get(name)
        if found is None:
            return Reply(404, (*_SAFE, (b"content-length", b"0")))
        if version == self.version:
            return found
        # of a page that was made before an upgrade: the file as it is now, not to be kept
        headers = tuple(each for each in found.headers if each[0] != b"cache-control")
        return Reply(200, (*headers, (b"cache-control", b"no-store")), found.body)

    @staticmethod
    def _reply(name: str, data: bytes) -> Reply:
        kind = f"{_TYPES[Path(name).suffix]}; charset=utf-8".encode()
        lasting = b"public, max-age=31536000, immutable"
        length = str(len(data)).encode()
        return Reply(
            200, (*_SAFE, (b"content-type", kind), (b"cache-control", lasting), (b"content-length", length)), data
        )


class Renderer:
    """Makes pages of templates."""

    def __init__(self, assets: Assets) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals |= {"to": address, "w": words, "base": assets.base, "STATES": words.STATES}

    def page(self, template: str, context: Mapping[str, Any], status: int = 200, headers: Headers = ()) -> Reply:
        """A whole answer."""
        text = self._environment.get_template(template).render(**{"now": datetime.now(UTC), **context})
        data = text.encode("utf-8", "replace")
        own: Headers = (
            (b"content-type", b"text/html; charset=utf-8"),
            (b"cache-control", b"private, no-cache"),
            (b"content-length", str(len(data)).encode()),
        )
        return Reply(status, (*_SAFE, *own, *headers), data)
