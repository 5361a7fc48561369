"""The webhook that is told what becomes of findings: one POST each, signed, as JSON of our own or as Slack takes it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

import httpx2
import orjson

from lineagelog.errors import SettingsError, TargetUnavailable
from lineagelog.exchange import post
from lineagelog.settings import NotifySettings, read_text
from lineagelog.shown import line_for_people, mask_tree, mask_url
from lineagelog.store.ledgers.finding_news import Untold

SIGNATURE: Final = "X-Lineagelog-Signature-256"
DELIVERY: Final = "X-Lineagelog-Delivery"
_MAX_ANSWER: Final = 64 * 1024


class Webhook:
    """One receiver. Raises SettingsError for a URL or a secret that cannot be used."""

    def __init__(self, settings: NotifySettings, transport: httpx2.BaseTransport | None = None) -> None:
        self._url, self._form, self._timeout = _url(settings), settings.form, settings.timeout
        self._secret = None if settings.secret_file is None else _secret(settings)
        self._client = httpx2.Client(
            timeout=settings.timeout,
            transport=transport,
            follow_redirects=False,  # a redirected POST may arrive as a GET, and at a page to sign in at
        )
        self.shown = "a URL from url_file" if settings.url is None else mask_url(self._url)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def tell(self, untold: Untold, finding: Mapping[str, Any]) -> None:
        """Tell it. Raises TargetUnavailable unless the receiver took it: the text names no secret."""
        body = orjson.dumps(message(self._form, untold, finding), default=str, option=orjson.OPT_UTC_Z)
        headers = {"Content-Type": "application/json", DELIVERY: delivery_of(untold)}
        if self._secret is not None:
            headers[SIGNATURE] = f"sha256={hmac.new(self._secret, body, 'sha256').hexdigest()}"
        try:
            self._post(body, headers)
        except httpx2.TimeoutException:
            raise TargetUnavailable(f"the webhook does not answer within {self._timeout:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            # its text may hold the URL, which may be a secret
            raise TargetUnavailable(f"the webhook cannot be reached ({type(error).__name__})") from None

    def _post(self, body: bytes, headers: dict[str, str]) -> None:
        response = post(self._client, self._url, body, headers, timeout=self._timeout, most=_MAX_ANSWER)
        if response.is_redirect:
            raise TargetUnavailable(
                f"the webhook answered HTTP {response.status_code}: a redirect, which is not followed (a sign-in page, "
                "another url?)"
            )
        if not response.is_success:
            raise TargetUnavailable(f"the webhook answered HTTP {response.status_code}")
        if response.content.lstrip()[:1] == b"<":
            raise TargetUnavailable(
                f"the webhook answered HTTP {response.status_code} with a page (a sign-in page, a proxy, another url?)"
            )


def delivery_of(untold: Untold) -> str:
    """The same for each attempt to tell the same: receivers know by it what they had already."""
    return f"{untold.finding_id}-{untold.news}-{int(untold.since.timestamp() * 1_000_000)}"


def message(form: str, untold: Untold, finding: Mapping[str, Any]) -> dict[str, Any]:
    """The body, without credentials: the news and the finding's document, or a text as Slack's webhooks take it."""
    told = mask_tree(dict(finding))
    if form == "json":
        return {"delivery": delivery_of(untold), "news": untold.news, "at": untold.since, "finding": told}
    text = line_for_people(str(told["explanation"]))
    about = f"{told['severity']}, {told['analysis']}, {told['finding_id']}"
    return {"text": f"*{untold.news}*: {_slack(text)}\n_{_slack(about)}_"}


def _slack(text: str) -> str:
    """As Slack escapes control characters of its markup: &, < and >."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _url(settings: NotifySettings) -> str:
    if settings.url is not None and settings.url_file is not None:
        raise SettingsError("'notify.url' and 'notify.url_file' exclude each other")
    text = settings.url or ""
    if settings.url_file is not None:
        text = read_text(settings.url_file, f"the file {settings.url_file} of 'notify.url_file'").strip()
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        raise SettingsError("the URL of 'notify' cannot be read") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingsError("the URL of 'notify' must be http:// or https://")
    return text


def _secret(settings: NotifySettings) -> bytes:
    assert settings.secret_file is not None  # noqa: S101  # asked by the caller
    secret = read_text(settings.secret_file, f"the file {settings.secret_file} of 'notify.secret_file'").strip()
    if not secret:
        raise SettingsError(f"the file {settings.secret_file} of 'notify.secret_file' is empty")
    return secret.encode()
