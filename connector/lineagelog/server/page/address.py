"""Addresses of what is shown: each name one segment, percent-encoded; by its key, where an address cannot hold it."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote, unquote, urlencode
from uuid import UUID

from lineagelog.read.explore.executions import key_of
from lineagelog.shown import mask_text

LONGEST: Final = 600
"""Characters of a namespace and a name in an address; longer ones are known by their key."""
NONE: Final = "~"
"""In place of a missing namespace, and before a key."""
_DOTS: Final = (".", "..")
"""Browsers take these away, encoded or not."""


def pair(namespace: str | None, name: str) -> str:
    """Namespace and name as two segments."""
    space = namespace or ""
    odd = len(space) + len(name) > LONGEST or name.startswith(NONE) or space.startswith(NONE)
    if odd or not name or name in _DOTS or space in _DOTS or mask_text(space + name) != space + name:
        return f"{NONE}/{NONE}{key_of(space, name)}"
    return f"{quote(space, safe='') or NONE}/{quote(name, safe='')}"


def from_pair(namespace: str, name: str) -> tuple[str, str]:
    """Namespace and name of two decoded segments; the name is ``~`` and a key where it was one."""
    return "" if namespace == NONE else namespace, name


def key_in(namespace: str, name: str) -> UUID | None:
    """The key of what an address names; None for a key that is none."""
    if not name.startswith(NONE):
        return key_of(namespace, name)
    try:
        return UUID(name[1:])
    except ValueError:
        return None


def with_query(path: str, **query: Any) -> str:
    """A path with those of the parameters that have a value."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def within(path: str, namespace: str) -> str:
    """A list of what is in a namespace; all of it where the name would tell a secret."""
    return path if mask_text(namespace) != namespace else f"{path}?{urlencode({'ns': namespace})}"


def job(namespace: str | None, name: str, **query: Any) -> str:
    """Of a job."""
    return with_query(f"/job/{pair(namespace, name)}", **query)


def dataset(namespace: str | None, name: str, **query: Any) -> str:
    """Of a dataset."""
    return with_query(f"/dataset/{pair(namespace, name)}", **query)


def run(run_id: str, **query: Any) -> str:
    """Of a run."""
    if run_id in _DOTS or mask_text(run_id) != run_id:
        return with_query("/run", id=run_id, **query)
    return with_query(f"/run/{quote(run_id, safe='')}", **query)


def lineage(kind: str, namespace: str | None, name: str, **query: Any) -> str:
    """Of the graph around a job or dataset."""
    return with_query(f"/lineage/{kind}/{pair(namespace, name)}", **query)


def subject(kind: str, namespace: str | None, name: str) -> str:
    """Of what a finding is about."""
    return job(namespace, name) if kind in ("job", "test") else dataset(namespace, name)


def local(text: str) -> str:
    """An address of ours to go on to; the first page where it is none."""
    plain = unquote(text)
    is_ours = plain.startswith("/") and not plain.startswith(("//", "/\\")) and plain.isprintable()
    return text if is_ours and text.startswith("/") else "/"
