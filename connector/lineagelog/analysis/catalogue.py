"""All analyses by name: each module in a folder here that has an `ANALYSIS` is one."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from lineagelog.errors import InputError

from .declaration import Analysis, Parameter


@cache
def analyses() -> dict[str, Analysis[Any]]:
    """The analyses by name, in the order of their folders and names."""
    here = Path(__file__).parent
    folders = sorted(place.name for place in here.iterdir() if (place / "__init__.py").is_file())
    names = [
        f"{__package__}.{folder}.{module.name}"
        for folder in folders
        for module in pkgutil.iter_modules([str(here / folder)])
    ]
    found = [getattr(import_module(name), "ANALYSIS", None) for name in names]
    return {analysis.name: analysis for analysis in found if analysis is not None}


def analysis_named(name: str) -> Analysis[Any]:
    """The analysis of that name, with - or _. Raises InputError that lists those there are."""
    try:
        return analyses()[name.replace("-", "_")]
    except KeyError:
        raise InputError(f"there is no analysis {name!r}; there are {', '.join(analyses())}") from None


def analyses_named(names: Iterable[str]) -> list[Analysis[Any]]:
    """Those of these names, each once, in their order. Raises InputError for a name that there is not."""
    return list({analysis.name: analysis for analysis in map(analysis_named, names)}.values())


@cache
def parameters() -> dict[str, tuple[Parameter, ...]]:
    """The parameters of all analyses by name: one that all share, or several that look at the same in other ways."""
    found: dict[str, tuple[Parameter, ...]] = {}
    for analysis in analyses().values():
        for parameter in analysis.parameters:
            others = found.get(parameter.name, ())
            found[parameter.name] = others if parameter in others else (*others, parameter)
    return found
