"""What the settings say of single jobs and datasets: what to leave out, how strict to be, what was promised of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import time
from fnmatch import translate
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import asdict

from lineagelog.errors import SettingsError
from lineagelog.shown import place

from .finding import Subject

_KINDS: Final = {"job": ("job", "test"), "dataset": ("dataset", "column", "test")}


class SubjectRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of the settings; what is None leaves things as they are."""

    job: str | None = None
    """Pattern of namespace/name, with * and ?; of jobs and their tests."""
    dataset: str | None = None
    """The same of datasets, their columns and tests."""
    analyses: tuple[str, ...] = ()
    """Those that it is for; none: all."""
    ignore: bool | None = None
    """Whether nothing is told of them."""
    threshold: Annotated[float, Meta(gt=0)] | None = None
    """Standard deviations from which a value is not usual, in place of a bound that the history gives."""
    least_change: Annotated[float, Meta(ge=0)] | None = None
    """Share of the expected value that a change must exceed, such as 0.05."""
    direction: Literal["both", "up", "down"] | None = None
    """Which changes count."""
    due: time | None = None
    """The time of day by which a job's run of that day has completed, or a dataset was written."""
    time_zone: str | None = None
    """Of `due`, such as Europe/Berlin; UTC if there is none."""
    max_minutes: Annotated[float, Meta(gt=0)] | None = None
    """How long a run of the job may take."""
    max_age_hours: Annotated[float, Meta(gt=0)] | None = None
    """How old the data may be."""
    target: Annotated[float, Meta(gt=0, lt=1)] | None = None
    """Share of runs or days that keep what was promised, such as 0.99."""

    @property
    def zone(self) -> ZoneInfo:
        """That of `due`."""
        return ZoneInfo(self.time_zone or "UTC")


_FROM_HERE_ON: Final = ("job", "dataset", "analyses")


class Rules:
    """The rules of one analysis, or of all: of several that fit a subject, a later one wins."""

    def __init__(self, rules: Iterable[SubjectRule] = ()) -> None:
        """Of those that say which jobs or datasets they are for."""
        self._rules = tuple(
            (kind, re.compile(translate(pattern)), rule)
            for rule in rules
            for kind, pattern in (("job", rule.job), ("dataset", rule.dataset))
            if pattern is not None
        )

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._rules)

    def of_analysis(self, name: str) -> Rules:
        """Those that hold for the analysis."""
        return Rules(dict.fromkeys(rule for _, _, rule in self._rules if not rule.analyses or name in rule.analyses))

    def of(self, subject: Subject) -> SubjectRule:
        """All that holds for a subject, in one."""
        found: dict[str, Any] = {}
        name = place(subject.namespace, subject.name)
        for kind, pattern, rule in self._rules:
            if subject.kind in _KINDS[kind] and pattern.fullmatch(name):
                found |= {key: value for key, value in asdict(rule).items() if value is not None}
        return (
            SubjectRule(**{key: value for key, value in found.items() if key not in _FROM_HERE_ON})
            if found
            else NO_RULE
        )


NO_RULE: Final = SubjectRule()
NO_RULES: Final = Rules()


def read_rules(sections: Iterable[Mapping[str, Any]]) -> Rules:
    """The rules of the settings' `[[analyse.rules]]`. Raises SettingsError with its number and key."""
    return Rules([_rule(number, dict(section)) for number, section in enumerate(sections, 1)])


def _rule(number: int, section: dict[str, Any]) -> SubjectRule:
    where = f"rule {number} of analyse.rules"
    try:
        rule = convert(section, SubjectRule)
    except ValidationError as error:
        raise SettingsError(f"{where}: {error}") from None
    if (rule.job is None) == (rule.dataset is None):
        raise SettingsError(f"{where}: give a pattern for one of 'job' and 'dataset'")
    try:
        _ = rule.zone
    except (KeyError, ValueError, OSError):
        raise SettingsError(f"{where}: there is no time zone {rule.time_zone!r}") from None
    return rule
