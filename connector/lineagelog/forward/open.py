"""Opens the sender that a target needs; libraries are loaded only for the targets that need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lineagelog.errors import SettingsError
from lineagelog.store.ledgers.forwarding import Known

from .sending import Sender
from .target import ForwardTarget, TargetKind

if TYPE_CHECKING:
    from .http import HttpSender

_NOTHING: Final = Known()


def require(target: ForwardTarget) -> None:
    """Load the libraries that an HTTP endpoint or a file needs. Raises SettingsError that names the extra."""
    if target.kind is TargetKind.FILE:
        from .file import compressor

        compressor(target.path.suffix)
    elif target.kind is not TargetKind.KAFKA:
        _http_sender()


def open_sender(target: ForwardTarget, known: Known = _NOTHING) -> Sender:
    """The sender of an HTTP endpoint or a file. (Kafka's is opened by `kafka.producer`.)

    Raises SettingsError for what is missing or cannot be read, TargetBusy for a file that another process writes.
    """
    if target.kind is TargetKind.FILE:
        from .file import FileSender

        return FileSender(target, known.file_size)
    if target.kind is TargetKind.KAFKA:
        raise SettingsError(f"'forward.{target.name}.kind': Kafka is not wired in here")
    return _http_sender()(target, known.learnt)


def _http_sender() -> type[HttpSender]:
    try:
        from .http import HttpSender
    except ModuleNotFoundError as error:
        raise SettingsError(f"forwarding needs {error.name}: pip install 'lineagelog[forward]'") from error
    return HttpSender
