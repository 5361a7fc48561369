"""`lineagelog config`: the settings as they are in effect."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from lineagelog.shown import MASK, mask_tree, mask_url

from .command import command
from .printing import Json, print_json, put, put_exactly
from .session import Session

_URLS: Final = frozenset(("database", "url", "batch_url", "token_url"))


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(
        app,
        "config",
        "lineagelog config",
        "lineagelog config --template > lineagelog.toml",
        "LINEAGELOG_SERVER__PORT=5001 lineagelog config --json",
    )(_config)


def _config(
    session: Session,
    json: Json = False,
    template: Annotated[
        bool, typer.Option("--template", help="Print a settings file with every key explained.")
    ] = False,
) -> None:
    """Show the settings in effect, credentials masked: file, variables and options taken together."""
    from lineagelog.settings import template_text

    if template:
        put_exactly(template_text())
        return
    settings = _masked(session.settings.model_dump(by_alias=True, mode="json"))
    if json:
        print_json(settings)
        return
    for line in _lines(settings):
        put(line)


def _masked(value: Any, name: str = "") -> Any:
    """Without what keys such as sasl.password and any headers hold, URLs and arguments without credentials."""
    if isinstance(value, dict) and name == "headers":
        return dict.fromkeys(value, MASK)
    if isinstance(value, dict):
        return {key: _masked(member, key) for key, member in value.items()}
    if isinstance(value, str) and name in _URLS:
        return mask_url(value)
    return MASK if isinstance(value, str) and value and name.endswith(".pem") else mask_tree(value, name)


def _lines(settings: dict[str, Any]) -> list[str]:
    """TOML; a key that is not set is a comment."""
    import orjson

    def line(key: str, value: Any) -> str:
        # a JSON string, number or boolean is also TOML's
        return f"# {key} is not set" if value is None else f"{key} = {orjson.dumps(value).decode()}"

    top = [line(key, value) for key, value in settings.items() if not isinstance(value, dict)]
    groups = [(key, value) for key, value in settings.items() if isinstance(value, dict)]
    return top + [
        text for name, group in groups for text in ("", f"[{name}]", *(line(*each) for each in group.items()))
    ]
