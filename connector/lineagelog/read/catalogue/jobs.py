"""The list of jobs: each with what was said of it last, and what came of its newest run."""

from __future__ import annotations

from sqlalchemy import select

from lineagelog.postgres.database import Database
from lineagelog.read import making
from lineagelog.read.bound import Bound
from lineagelog.read.conditions import of_job
from lineagelog.read.listing import Listing
from lineagelog.read.rows import ListedJob
from lineagelog.store.definition.schema import LogStoreSchema

from .search import Sought, holds, listing, view


def jobs(
    database: Database, schema: LogStoreSchema, wanted: Sought, bound: Bound, status: str | None
) -> Listing[ListedJob]:
    """The jobs that were seen in a window; ``status`` is the outcome of the newest run."""
    source = view(schema.schema_name, "v_ol_job", "job_key", "search_text", row=ListedJob)
    job = source.c
    conditions = [*wanted.seen(job), *of_job(job, wanted.name, wanted.namespace), *bound.on(job)]
    if wanted.search:
        conditions.append(holds(job.search_text, wanted.search))
    if status is not None:
        conditions.append(job.last_outcome == status.upper())
    shown = [each for each in job if each.name != "search_text"]
    statement = select(*shown).where(*conditions)
    return listing(
        database, "jobs", statement, (job.first_seen, job.job_key), making.listed_job, reverse=wanted.reverse
    )
