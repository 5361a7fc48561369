"""What commands that look for faults say: one line for each thing looked at, and what to do where it is not well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .printing import print_json, put

if TYPE_CHECKING:
    from lineagelog.settings import EgeriaSettings


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `advice` says what to do; without it all is well."""

    subject: str
    observed: str
    advice: str | None = None


def print_checks(checks: Sequence[Check], *, json: bool) -> int:
    """Print them; how many are findings."""
    count = sum(1 for check in checks if check.advice)
    if json:
        print_json({"findings": count, "checks": [asdict(check) for check in checks]})
        return count
    width = max(len(check.subject) for check in checks)
    for check in checks:
        put(f"{'!!' if check.advice else 'ok'}  {check.subject:<{width}}  {check.observed}")
        if check.advice:
            put(f"    {'':<{width}}  → {check.advice}")
    put(f"{count or 'no'} finding{'' if count == 1 else 's'}")
    return count


def check_egeria(settings: EgeriaSettings) -> Iterator[Check]:
    """Look at Egeria, step by step; what comes after the first thing that is wrong is not looked at."""
    from lineagelog.egeria.daemons import find_daemon
    from lineagelog.egeria.remote import Egeria
    from lineagelog.errors import EgeriaError, EgeriaUnfit, SettingsError

    at = "platform"
    try:
        with Egeria(settings) as egeria:
            yield Check(at, str(egeria.call("about") or "it does not say what it is"))
            yield Check("TLS", _tls(settings))
            yield Check("token", f"given to {settings.user}")
            at = "view server"
            egeria.call("find", property_value="lineagelog", property_names=["qualifiedName"])
            yield Check(at, f"{settings.view_server} answers")
            at = "daemon"
            if settings.daemon is None:
                yield Check(at, "none is named (egeria.daemon)")
                return
            daemon = find_daemon(egeria, settings.daemon)
            connectors = daemon.connectors()
            yield Check(at, f"{daemon.name} runs {len(connectors)} connectors")
            for each in connectors:
                if each.problem:
                    advice = f"correct it, then `lineagelog egeria connectors restart '{each.name}'`"
                    yield Check("connector", f"{each.name}: {each.problem}", advice)
    except EgeriaUnfit as error:
        at = at if at != "platform" and error.subject == "platform" else error.subject
        yield Check(at, str(error), _ADVICE[error.subject])
    except SettingsError as error:
        yield Check("settings", str(error), "set it under [egeria] in the settings")
    except EgeriaError as error:
        yield Check(at, str(error), _ADVICE[at])


def _tls(settings: EgeriaSettings) -> str:
    if not str(settings.platform_url).startswith("https:"):
        return "none: the password is sent as it is"
    if not settings.verify_tls:
        return "the certificate is not checked (egeria.verify_tls = false): anybody may be Egeria"
    return f"the certificate is one of {settings.ca_file or 'those that the system trusts'}"


_ADVICE = {
    "platform": "is it running, and is egeria.platform_url its URL?",
    "TLS": "name the file of its certificate authority in egeria.ca_file",
    "token": "look at egeria.user, egeria.password_file and egeria.view_server",
    "pyegeria": "`make pyegeria` in a checkout, or an environment with `pip install pyegeria`",
    "view server": "is egeria.view_server the name of a view server that runs, of Egeria 6?",
    "daemon": "look at egeria.daemon: the name of the integration daemon's server, or its GUID",
}
