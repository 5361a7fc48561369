"""Where a store is: a pool of connections to a database, and the name of the schema in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import Engine

from .engine import open_engine
from .pulse import PATIENCE


@dataclass(frozen=True, slots=True)
class Database:
    """One schema of one database, as all who read and write there are given it."""

    engine: Engine
    schema: str = "openlineage"

    @property
    def url(self) -> str:
        """As `open_engine` takes it, with the password."""
        return self.engine.url.render_as_string(hide_password=False)

    def with_own_pool(self, pool_size: int, patience: float = PATIENCE) -> Database:
        """The same by connections of its own, so that neither side waits for the other's: the caller disposes of it."""
        return replace(self, engine=open_engine(self.url, pool_size=pool_size, patience=patience))

    def dispose(self) -> None:
        """Close the pool's connections."""
        self.engine.dispose()
