"""Recordings tell of no machine, and what belongs together still does."""

from __future__ import annotations

from datetime import date

from .neutral import Machine

MACHINE = Machine(
    folders={"/data/ann1/lineagelog/runs/one": "/srv/nests", "/data/ann1": "/home/ann"},
    words={"box7": "nests.example", "10.1.2.3": "192.0.2.10"},
    user="root",
    recorded=date(2027, 1, 31),
)
RUN, OTHER = "019cabd8-3800-71d3-84ce-1cd3e70d4c2a", "019cabd8-3800-71d3-84ce-1cd3e70d4c2b"


def neutral(*lines: str) -> list[str]:
    return MACHINE.neutral("name", lines)


def test_places_and_people() -> None:
    """Folders, the longest first, hosts, addresses and the user; a member that is called like the user stays."""
    assert neutral(
        '{"a": "file:/data/ann1/lineagelog/runs/one/x.csv", "b": "/data/ann1/y", "host": "box7", "ip": "10.1.2.3:80"}',
        '{"user":"root","root":{"run": 1},"version":"110.1.2.3","box": "box77"}',
    ) == [
        '{"a": "file:/srv/nests/x.csv", "b": "/home/ann/y", "host": "nests.example", "ip": "192.0.2.10:80"}',
        '{"user":"ann","root":{"run": 1},"version":"110.1.2.3","box": "box77"}',
    ]


def test_times_keep_their_distances_and_spellings() -> None:
    """The day of the recording becomes 2 March 2026, its neighbours stay neighbours; other times stay."""
    assert neutral(
        '"2027-01-31T10:20:30.4Z" 2027-02-01T00 2026-03-01T08:00Z local-1801389600123 manual__2027-01-31T01'
    ) == ['"2026-03-02T10:20:30.4Z" 2026-03-03T00 2026-03-01T08:00Z local-1772445600123 manual__2026-03-02T01']


def test_run_ids_are_replaced_alike() -> None:
    """The same id is the same again, in every line and at every recording; another one is another."""
    first, second = neutral(f'"{RUN}"', f'"{OTHER}" "{RUN}"')
    assert first in second
    assert len({*first.split(), *second.split()}) == 2
    assert RUN not in first
    assert neutral(f'"{RUN}"') == [first]
    assert MACHINE.neutral("another", [f'"{RUN}"']) != [first]
