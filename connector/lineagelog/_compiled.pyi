"""Built from native/; see compiled.py."""

from collections.abc import Iterable, Sequence
from typing import Any

class Scanner:
    """Reads events for what is wanted of them.

    ``wanted`` says of a value: True for all of it, "text" for the canonical bytes of an array or object that is not
    empty, or a dict of members (of an object, or of each object of an array); other members are passed over.
    """

    def __init__(self, wanted: Any) -> None: ...
    def scan(self, text: bytes) -> tuple[dict[str, Any], bytes] | None:
        """What is wanted, and the SHA-256 of the canonical text; None for a text that the reference has to read."""

def name_key(*parts: str | None) -> bytes: ...
def encode_array(code: int, oid: int, values: Sequence[Any]) -> bytes: ...
def encode_rows(codes: bytes, rows: Iterable[tuple[Any, ...]]) -> bytes: ...
