"""`lineagelog config`: the settings as they are in effect."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .command import command
from .printing import Json, print_json
from .session import Session


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
    """Show the settings in effect, passwords masked: file, variables and options taken together."""
    from lineagelog.settings import template_text
    from lineagelog.store import masked

    if template:
        print(template_text(), end="")
        return
    settings = _masked(session.settings.model_dump(by_alias=True, mode="json"))
    if settings["database"] is not None:
        settings["database"] = masked(settings["database"])
    if json:
        print_json(settings)
        return
    for line in _lines(settings):
        print(line)


def _masked(value: Any, name: str = "") -> Any:
    """Without what keys such as sasl.password hold; those that name a file or a variable are no secrets."""
    from lineagelog.event.redaction import MASK, names_a_secret

    if isinstance(value, dict):
        return {key: _masked(member, key) for key, member in value.items()}
    is_secret = isinstance(value, str) and (names_a_secret(name) or name.endswith(".pem"))
    return MASK if is_secret and value and not name.endswith(("_file", "_env")) else value


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
