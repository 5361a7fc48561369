"""Egeria as the rest of lineagelog calls it: `client.py` with pyegeria in a process of its own, started when needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self, cast

from lineagelog.errors import EgeriaError, EgeriaRefused, EgeriaUnavailable, EgeriaUnfit, SettingsError
from lineagelog.settings import EgeriaSettings, read_text
from lineagelog.shown import mask_text

_CLIENT: Final = Path(__file__).with_name("client.py")
_START_SECONDS: Final = 120.0
"""Importing pyegeria takes a second, or many on a busy machine; the first call waits for it, too."""
_TIMES: Final = 4
"""A call may be a token, the call, a token again and the call again, each as long as the timeout."""


class Egeria:
    """One view server of an Egeria platform, called through pyegeria. For one thread at a time; close it.

    A call gives what Egeria gives: a GUID, an element as a dict, a list of them (with ``pages``, all of them), or None
    where there is nothing. Raises EgeriaUnavailable (worth a retry), EgeriaUnfit (not before something is set up
    otherwise), EgeriaRefused (this call is not accepted).
    """

    def __init__(self, settings: EgeriaSettings) -> None:
        if not settings.platform_url:
            raise SettingsError("egeria.platform_url is not set: the URL of Egeria's platform, https://HOST:9443")
        if not settings.user:
            raise SettingsError("egeria.user is not set: the user that publishes")
        self._settings = settings
        self._client: _Client | None = None

    def call(self, name: str, *, pages: bool = False, **arguments: Any) -> Any:
        """Make one of the calls that `client.CALLS` lists."""
        limit = self._settings.timeout * _TIMES * (100 if pages else 1)
        if self._client is None:
            self._client = _Client(self._settings)
            limit += _START_SECONDS
        reply = self._client.ask({"call": name, "with": arguments, "pages": pages}, limit)
        if reply is None:
            self.close()
            raise EgeriaUnavailable("the process that calls Egeria ended in the midst of a call, or hung")
        if (error := reply.get("error")) is not None:
            raise _raised(error)
        return reply["value"]

    def close(self) -> None:
        """End the process; the next call starts one anew."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Client:
    """A process of `client.py`, and its two channels."""

    def __init__(self, settings: EgeriaSettings) -> None:
        python = str(settings.python or sys.executable)
        told = _told(settings)
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the Python that the settings name, and our own file
                [python, "-P", str(_CLIENT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # pyegeria's own words name users and bodies
                text=True,
                encoding="utf-8",
                env={name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")},
                start_new_session=True,  # an interrupt at the terminal is ours to act on
            )
        except OSError as error:
            raise EgeriaUnfit(f"egeria.python {python} cannot be started: {error.strerror or error}") from error
        self._questions = cast(IO[str], self._process.stdin)
        self._answers = cast(IO[str], self._process.stdout)
        self._say(told)

    def ask(self, question: Mapping[str, Any], limit: float) -> dict[str, Any] | None:
        """The reply; None from a process that has ended, or was ended after ``limit`` seconds of silence."""
        watch = threading.Timer(limit, self._process.kill)
        watch.daemon = True
        watch.start()
        try:
            self._say(question)
            line = self._answers.readline()
        finally:
            watch.cancel()
        return cast(dict[str, Any], json.loads(line)) if line else None

    def _say(self, what: Mapping[str, Any]) -> None:
        with suppress(OSError):  # it has ended: that shows when the answer is read
            self._questions.write(json.dumps(what, default=str) + "\n")
            self._questions.flush()

    def close(self) -> None:
        for stream in (self._questions, self._answers):
            with suppress(OSError):
                stream.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _told(settings: EgeriaSettings) -> dict[str, Any]:
    """What the process is told first; the password goes this way only."""
    password = ""
    if settings.password_file is not None:
        password = read_text(settings.password_file, "egeria.password_file").removesuffix("\n")
    return {
        **settings.model_dump(mode="json", exclude={"password_file", "python"}),
        "platform_url": str(settings.platform_url).rstrip("/"),
        "password": password,
    }


def _raised(error: Mapping[str, Any]) -> EgeriaError:
    text = mask_text(str(error["text"]))
    match error["kind"]:
        case "unreachable":
            return EgeriaUnavailable(f"Egeria cannot be reached: {text}")
        case "failed":
            return EgeriaUnavailable(f"Egeria failed: {text}", is_away=False)
        case "unauthorized":
            return EgeriaUnfit(f"Egeria does not let the user in: {text}", subject="token")
        case "certificate":
            return EgeriaUnfit(f"Egeria's certificate is not trusted: give egeria.ca_file ({text})", subject="TLS")
        case "ca_file":
            return EgeriaUnfit(f"egeria.ca_file is no file of certificates: {text}", subject="TLS")
        case "no_endpoint":
            return EgeriaUnfit(f"this Egeria has no such endpoint: is it older than 6.0? ({text})", subject="platform")
        case "no_json":
            return EgeriaUnfit(f"Egeria cannot be understood: {text}", subject="platform")
        case "absent":
            return EgeriaUnfit(
                f"pyegeria is not there ({text}): install it, and name the Python that has it in egeria.python"
            )
    return EgeriaRefused(
        text, code=error.get("code") or None, message_id=error.get("message_id"), user_action=error.get("user_action")
    )
