"""Writes the list of analyses in docs/analyses.md from their declarations: `python -m tests.docs.analyses_page`."""

from __future__ import annotations

import re

from lineagelog.analysis import Analysis, Result, analyses
from tests.support import ROOT

PAGE = ROOT / "docs" / "analyses.md"
_MARKED = re.compile(r"(?<=<!-- analyses -->\n).*?(?=<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """The page with its list renewed."""
    return _MARKED.sub(lambda _: "".join(map(_section, analyses().values())), text)


def _section(analysis: Analysis) -> str:
    kind = "A table: properties of each subject." if analysis.result is Result.TABLE else "Findings."
    told = f"{kind} Method: {analysis.method}." if analysis.method else kind
    lines = [f"### {analysis.name}", "", f"{analysis.question} {analysis.about}", "", told, ""]
    for each in analysis.parameters:
        default = f" ({each.default})" if each.default else ""
        lines.append(f"- `{each.option} {each.metavar}`: {each.meaning}{default}")
    example = f"lineagelog analyse {analysis.name} {analysis.example}".strip()
    return "\n".join([*lines, *([""] if analysis.parameters else []), f"```sh\n{example}\n```", "", ""])


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
