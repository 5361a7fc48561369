"""Ctrl-C is told in words."""

from __future__ import annotations

import pytest
import typer

from lineagelog.cli.command import INTERRUPTED, one_line_errors


@pytest.mark.parametrize(
    ("interrupt", "said"),
    [(KeyboardInterrupt(), "lineagelog: interrupted\n"), (KeyboardInterrupt("read 3"), "lineagelog: read 3\n")],
)
def test_an_interrupt_is_never_an_empty_line(
    interrupt: KeyboardInterrupt, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line says what was done, or else that it was interrupted; the exit code is that of an interrupt."""
    with pytest.raises(typer.Exit) as ended, one_line_errors():
        raise interrupt
    assert (ended.value.exit_code, capsys.readouterr().err) == (INTERRUPTED, said)
