"""The recorded DAG: a task that works, mapped tasks of which one needs a second try, a branch, and one that may fail.

`publish` fails until the file `press-is-up` is there, so that the run can be repeated after mending it.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import BranchPythonOperator, PythonOperator
from airflow.sdk import DAG, Asset

COUNTS = Asset("file:///srv/nests/counts.csv")
REPORT = Asset("file:///srv/nests/report.html")
STATE = Path(os.environ["NESTS_STATE"])


def count(nest):
    seen = STATE / f"nest-{nest}"
    if nest == 2 and not seen.exists():
        seen.touch()
        raise ValueError("nest 2: the owl was at home")
    return nest


def publish():
    if not (STATE / "press-is-up").exists():
        raise ConnectionError("the press does not answer")


with DAG("nest_survey", schedule=None, start_date=datetime(2026, 3, 1, tzinfo=UTC), catchup=False, tags=["nests"]):
    collect = PythonOperator(task_id="collect", python_callable=lambda: None, outlets=[COUNTS])
    counted = PythonOperator.partial(
        task_id="count", python_callable=count, retries=1, retry_delay=timedelta(seconds=0), inlets=[COUNTS]
    ).expand(op_args=[[1], [2], [3]])
    choose = BranchPythonOperator(task_id="choose", python_callable=lambda: "publish")
    published = PythonOperator(
        task_id="publish",
        python_callable=publish,
        retries=1,
        retry_delay=timedelta(seconds=0),
        inlets=[COUNTS],
        outlets=[REPORT],
    )
    collect >> counted >> choose >> [published, EmptyOperator(task_id="archive")]
    published >> PythonOperator(task_id="announce", python_callable=lambda: None, inlets=[REPORT])
