"""What the program says about its own work: console for people, JSON for machines."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import EventDict

from lineagelog.shown import json_visible, mask_tree, one_line, visible

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class _Stderr:
    """The standard error of the moment. A log that nobody can read must not end a server or its writers."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):  # a closed pipe, a closed file
            return sys.stderr.write(text)
        return 0

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


def _shown(_logger: object, _method: str, fields: EventDict) -> EventDict:
    """Without credentials, with control characters shown; only traces have several lines."""
    return {key: _value(key, mask_tree(value, key)) for key, value in fields.items()}


def _value(key: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    return visible(value) if key in ("exception", "stack") else one_line(value)


def _escaped(_logger: object, _method: str, line: Any) -> Any:
    return json_visible(line) if isinstance(line, str) else line


def configure_logs(level: str, form: str) -> None:
    """Send structlog and the standard library's logging to stderr; ``form`` is auto, console or json."""
    is_console = form == "console" or (form == "auto" and sys.stderr.isatty())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    render: list[structlog.typing.Processor] = [structlog.processors.format_exc_info, _shown]
    if is_console:
        plain = structlog.dev.plain_traceback
        render.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain))
    else:
        render += [structlog.processors.JSONRenderer(), _escaped]
    structlog.configure(
        processors=[*shared, *render],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Stderr())),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[remove, *render]))
    logging.basicConfig(level=max(_LEVELS[level], logging.WARNING), handlers=[handler], force=True)
