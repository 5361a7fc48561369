"""Database URLs: what is wrong with one is told without the password."""

from __future__ import annotations

import pytest

from lineagelog.errors import SettingsError
from lineagelog.shown import mask_text
from lineagelog.store import open_engine


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:secret@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgresql://u:se@c@ret@h/db?x=a@b", "postgresql://u:***@h/db?x=a@b"),
        ("postgresql://u:se/cret@h/db", "postgresql://u:***@h/db"),
        ("at postgresql://u:secret@h/a and postgresql://v@h/b", "at postgresql://u:***@h/a and postgresql://v@h/b"),
    ],
)
def test_passwords_in_urls_are_masked(text: str, shown: str) -> None:
    """Those with an unescaped @ or slash, too."""
    assert mask_text(text) == shown


def test_a_password_with_a_bare_at_sign_is_told_at_once() -> None:
    """What follows it would be taken for the host, whose name is in errors, logs and audit records."""
    with pytest.raises(SettingsError, match="bare '@': write %40") as told:
        open_engine("postgresql://u:se@cret@h/db")
    assert "cret" not in str(told.value)
