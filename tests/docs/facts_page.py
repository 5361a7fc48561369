"""Writes the lists of facts in docs/digest.md from their declaration: `python -m tests.docs.facts_page`."""

from __future__ import annotations

import re

from lineagelog.event import facts
from lineagelog.store.definition.migrations import sql_type
from tests.support import ROOT

PAGE = ROOT / "docs" / "digest.md"
_LISTS = {
    "run": facts.RUN,
    "dataset": facts.DATASET,
    "job itself": facts.JOB_ENTITY,
    "dataset itself": facts.DATASET_ENTITY,
}
_MARKED = re.compile(rf"(<!-- facts of a ({'|'.join(_LISTS)}) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """The page with its lists renewed."""
    return _MARKED.sub(lambda found: found[1] + _table(_LISTS[found[2]]), text)


def _table(registers: tuple[facts.Register, ...]) -> str:
    lines = ["| column | type | what | read from | cleared by `_deleted` |", "|---|---|---|---|---|"]
    for register in registers:
        places = ", ".join(map(_place, register.places)) or f"member `{register.member}` of the event"
        for fact in register.facts:
            kind = sql_type(fact.kind).lower().partition(" collate")[0]
            row = (f"`{fact.name}`", kind, fact.about, places, "yes" if register.deletable else "")
            lines.append(f"| {' | '.join(row)} |")
            places = "″"
    return "\n".join(lines) + "\n"


def _place(place: facts.Place) -> str:
    of = " of the job" if place.of == "job" else ""
    return f"`{place.facet}{f'.{place.path}' if place.path else ''}`{of}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
