"""The text of one Satsuma file: its lines, the places in it, and the error that names a place."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass

from lineagelog.errors import InputError

_EXCERPT = 120
_BOM = "\ufeff"


class SatsumaError(InputError):
    """A spec that cannot be exported: `file:line:column: what is wrong, in the offending line`."""

    def __init__(self, message: str, *, file: str, line: int, column: int = 1, excerpt: str = "") -> None:
        self.message, self.excerpt = " ".join(message.splitlines()), excerpt
        self.file, self.line, self.column = file, line, column
        shown = excerpt.strip()
        shown = shown if len(shown) <= _EXCERPT else shown[:_EXCERPT] + "…"
        super().__init__(f"{file}:{line}:{column}: {self.message}" + (f", in `{shown}`" if shown else ""))


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file's text with `\\n` line ends, and where its lines begin."""

    file: str
    text: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str, file: str) -> SourceText:
        """Take a text as it is in the file: any line end, with or without a byte order mark."""
        plain = text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n")
        return cls(file, plain, (0, *(found.end() for found in re.finditer("\n", plain))))

    @classmethod
    def decode(cls, data: bytes, file: str) -> SourceText:
        """Read UTF-8. Raises SatsumaError at the first byte that is not."""
        try:
            return cls.of(data.decode("utf-8"), file)
        except UnicodeDecodeError as error:
            good = data[: error.start].decode("utf-8")
            before = cls.of(good, file)
            line, column = before.place(len(before.text))
            byte = f"byte 0x{data[error.start]:02x}"
            raise SatsumaError(
                f"the file is not UTF-8 ({byte}); save it as UTF-8",
                file=file,
                line=line,
                column=column,
                excerpt=before.line_at(line),
            ) from None

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect.bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line_at(self, line: int) -> str:
        """The text of a line, counted from 1, without its end."""
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        return self.text[self.starts[line - 1] : end]

    def error(self, offset: int, message: str) -> SatsumaError:
        """The error that says what is wrong at an offset."""
        line, column = self.place(offset)
        return SatsumaError(message, file=self.file, line=line, column=column, excerpt=self.line_at(line))
