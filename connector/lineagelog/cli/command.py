"""Registers commands: common options, settings, one-line errors and exit codes are the same for all of them."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, cast

import typer

from lineagelog.errors import LineageLogError

from .printing import put, tell
from .session import Session

OK: Final = 0
FINDINGS: Final = 1
ERROR: Final = 2
INTERRUPTED: Final = 130
_TERMINATED: Final = 143
_BROKEN_PIPE: Final = 141

_PANEL: Final = "Where the store is"
_CONFIG: Final = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=_PANEL,
            help="Settings file, else LINEAGELOG_CONFIG, ./lineagelog.toml or ~/.config/lineagelog/config.toml.",
        ),
    ],
)
_STORE: Final = tuple(
    inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, typer.Option(metavar=metavar, rich_help_panel=_PANEL, help=text)],
    )
    for name, kind, metavar, text in (
        ("database", str | None, "URL", "postgresql://user@host/name, else LINEAGELOG_DATABASE, else embedded."),
        ("schema", str | None, "NAME", "Schema of the store, else LINEAGELOG_SCHEMA, else openlineage."),
        ("data_dir", Path | None, "DIR", "Folder of the embedded PostgreSQL, else LINEAGELOG_DATA_DIR."),
    )
)

type Command = Callable[..., int | None]


def command(
    app: typer.Typer, name: str, *examples: str, more: Sequence[inspect.Parameter] = ()
) -> Callable[[Command], Command]:
    """Register a function as a command of ``app``; its first parameter is the Session, the others are its options.

    What it returns is the exit code (None = 0). ``examples`` are command lines that the help shows; ``more`` are
    options that the function takes as keyword arguments of any name.
    """

    def register(function: Command) -> Command:
        @functools.wraps(function)
        def run(*, config: Path | None, **arguments: Any) -> NoReturn:
            options = {parameter.name: arguments.pop(parameter.name) for parameter in _STORE}
            with one_line_errors():
                code = function(Session.begin(config, options), **arguments)
                sys.stdout.flush()
            raise typer.Exit(code or OK)

        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        named = [each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD]
        parameters = [
            *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*named, *more)),
            *_STORE,
            _CONFIG,
        ]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        cast(Any, run).__signature__ = inspect.Signature(parameters)
        app.command(name, help=_help(function.__doc__), epilog=_epilog(examples))(run)
        return function

    return register


def _epilog(examples: tuple[str, ...]) -> str:
    lines = [f"  {example}".replace("[", "\\[") for example in examples]
    return "\n".join(["Examples:" if len(lines) > 1 else "Example:", *lines])


def _help(docstring: str | None) -> str:
    """The docstring with each paragraph on one line: typer keeps its line breaks otherwise."""
    paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End the process as a person and a script expect it: one line on stderr and exit code 2, never a traceback.

    ``LINEAGELOG_DEBUG=1`` shows the traceback.
    """
    before = None
    with suppress(ValueError):  # not the main thread: whoever runs us there handles signals
        before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except LineageLogError as error:
        fail(str(error))
    except KeyboardInterrupt as interrupt:
        tell(f"lineagelog: {str(interrupt) or 'interrupted'}")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # whoever read our output has enough; Python would complain when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_BROKEN_PIPE) from None
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else internal(error))
        # where it is our output that cannot be written, Python must not try once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        fail(f"cannot write: {error.strerror}")
    except Exception as error:
        fail(internal(error))
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def internal(error: Exception) -> str:
    """What to say where something is wrong with the program itself."""
    return f"internal error: {type(error).__name__}: {error} (LINEAGELOG_DEBUG=1 shows where)"


terminated: Final[list[int]] = []
"""The signals that asked for the end: an exception may get lost on its way (hasattr() in C swallows any)."""


def _terminate(number: int, _: object) -> NoReturn:
    """Leave by the way of an exception, so that an embedded server is released."""
    terminated.append(number)
    raise SystemExit(_TERMINATED)


def fail(message: str) -> NoReturn:
    """Say what is wrong in one line and end with exit code 2."""
    if os.environ.get("LINEAGELOG_DEBUG", "") not in ("", "0"):
        put(traceback.format_exc(), err=True)
    tell(f"lineagelog: {message}")
    raise typer.Exit(ERROR) from None
