"""How each recording comes about: what is run, in a folder of its own, with events going to a server and a file."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support import wait_until

from . import environments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = environments.HERE
CLUTCHES = HERE / "dbt" / "seeds" / "clutches.csv"


@dataclass(frozen=True)
class Workplace:
    """Where a scenario works, and where what it says of itself goes: `file` and the server at `url`."""

    folder: Path
    url: str

    @property
    def file(self) -> Path:
        return self.folder / "sent.jsonl"

    def configuration(self, file: dict[str, object]) -> Path:
        """The clients' own settings; Python's and Java's name the file transport's members each in their way."""
        transports = {"server": {"type": "http", "url": self.url}, "file": {"type": "file", **file}}
        settings = {"transport": {"type": "composite", "transports": transports}}
        path = self.folder / "openlineage.yml"
        path.write_text(json.dumps(settings))  # JSON is YAML
        return path

    def run(self, *command: str | Path, expected: int = 0, **variables: str | Path) -> None:
        """Run a command that must end with the expected code; its words are kept beside the events."""
        with (self.folder / "said.log").open("a") as said:
            environment = os.environ | {name: str(value) for name, value in variables.items()}
            done = subprocess.run(command, cwd=self.folder, env=environment, stdout=said, stderr=said)
        assert done.returncode == expected, (command, done.returncode, said.name)


# --- dbt --------------------------------------------------------------------------------------------------------------


def _dbt(*commands: tuple[int, str]) -> Callable[[Workplace], None]:
    """Commands of dbt-ol with the codes they must end with; the last one is recorded, with what its children sent."""

    def scenario(place: Workplace) -> None:
        programs = environments.python("dbt")
        shutil.copytree(HERE / "dbt", place.folder, dirs_exist_ok=True)
        variables = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "OPENLINEAGE_CONFIG": place.configuration({"log_file_path": str(place.file), "append": True}),
            "OPENLINEAGE_NAMESPACE": "nests",
            "DBT_PROFILES_DIR": place.folder,
        }
        *before, (code, recorded) = commands
        for expected, command in before:
            place.run(programs / "dbt", *shlex.split(command), expected=expected, **variables)
        place.run(programs / "dbt-ol", *shlex.split(recorded), expected=code, **variables)

    return scenario


_BROKEN = "run --vars '{with_broken: true}'"

# --- Spark ------------------------------------------------------------------------------------------------------------


def _spark(script: str, code: int) -> Callable[[Workplace], None]:
    def scenario(place: Workplace) -> None:
        programs, listener = environments.python("spark"), environments.jars("spark")
        shutil.copytree(HERE / "spark", place.folder, dirs_exist_ok=True)
        shutil.copy(CLUTCHES, place.folder)
        transport = {
            "type": "composite",
            "continueOnFailure": "true",
            "transports.server.type": "http",
            "transports.server.url": place.url,
            "transports.file.type": "file",
            "transports.file.location": place.file,
        }
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
            "spark.openlineage.namespace": "nests",
        } | {f"spark.openlineage.transport.{name}": value for name, value in transport.items()}
        options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        jar = next(listener.glob("*.jar"))
        variables = {"PATH": f"{programs}:{os.environ['PATH']}"}
        submit = (programs / "spark-submit", "--master", "local[1]", "--jars", jar, *options, script)
        place.run(*submit, expected=code, **variables)

    return scenario


# --- Airflow ----------------------------------------------------------------------------------------------------------


def _airflow(place: Workplace) -> dict[str, str | Path]:
    """A home of its own, and the variables for it; everything listens on loopback only."""
    programs = environments.python("airflow")
    shutil.copytree(HERE / "airflow" / "dags", place.folder / "dags")
    (place.folder / "state").mkdir()
    server = "http://127.0.0.1:18080"
    variables: dict[str, str | Path] = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "NESTS_STATE": place.folder / "state",
        "AIRFLOW_HOME": place.folder / "home",
        "AIRFLOW__CORE__DAGS_FOLDER": place.folder / "dags",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{server}/execution/",
        "AIRFLOW__CORE__PARALLELISM": "1",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": "18080",
        "AIRFLOW__API__BASE_URL": server,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(64),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "nests",
        "AIRFLOW__OPENLINEAGE__CONFIG_PATH": place.configuration({"log_file_path": str(place.file), "append": True}),
    }
    place.run(programs / "airflow", "db", "migrate", **variables)
    return variables


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT00:00:00+00:00")


def _airflow_tested_twice(place: Workplace) -> None:
    """`airflow dags test` of one date, twice: the first run fails, and the second takes its place."""
    variables = _airflow(place)
    airflow = environments.python("airflow") / "airflow"
    place.run(airflow, "dags", "test", "nest_survey", _today(), expected=1, **variables)
    (place.folder / "state" / "press-is-up").touch()
    place.run(airflow, "dags", "test", "nest_survey", _today(), **variables)


def _airflow_cleared(place: Workplace) -> None:
    """A scheduler runs the DAG, which fails; the failed tasks are cleared, and what they are for is done then."""
    variables = _airflow(place)
    airflow = environments.python("airflow") / "airflow"

    def ended(event_type: str) -> bool:
        events = map(json.loads, place.file.read_text().splitlines()) if place.file.exists() else ()
        return any(one["job"]["name"] == "nest_survey" and one["eventType"] == event_type for one in events)

    with _running(place, variables, ("api-server",), ("scheduler", "--skip-serve-logs"), ("dag-processor",)):
        listed = place.folder / "home" / "listed"
        wait_until(lambda: _lists(airflow, variables, listed))
        place.run(airflow, "dags", "trigger", "nest_survey", "--run-id", "survey", "-l", _today(), **variables)
        wait_until(lambda: ended("FAIL"))
        (place.folder / "state" / "press-is-up").touch()
        place.run(airflow, "tasks", "clear", "-y", "-f", "-d", "nest_survey", **variables)
        wait_until(lambda: ended("COMPLETE"))


def _lists(airflow: Path, variables: dict[str, str | Path], listed: Path) -> bool:
    """Whether the DAG processor has found the DAG."""
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    with listed.open("w") as out:
        subprocess.run([airflow, "dags", "list", "-o", "plain"], env=environment, stdout=out, stderr=out, check=True)
    return "nest_survey" in listed.read_text()


@contextmanager
def _running(place: Workplace, variables: dict[str, str | Path], *commands: tuple[str, ...]) -> Iterator[None]:
    airflow = environments.python("airflow") / "airflow"
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    started = []
    try:
        for command in commands:
            with (place.folder / f"{command[0]}.log").open("w") as said:
                started.append(
                    subprocess.Popen(
                        [airflow, *command],
                        cwd=place.folder,
                        env=environment,
                        stdout=said,
                        stderr=said,
                        start_new_session=True,
                    )
                )
        yield
    finally:
        for kind in (signal.SIGTERM, signal.SIGKILL):
            for process in started:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, kind)
            time.sleep(5)
        for process in started:
            process.wait()


# --- Java -------------------------------------------------------------------------------------------------------------


def _java(place: Workplace) -> None:
    libraries = environments.jars("java")
    settings = place.configuration({"location": str(place.file)})
    place.run("java", "-cp", f"{libraries}/*", HERE / "java" / "Nests.java", OPENLINEAGE_CONFIG=settings)


SCENARIOS: Final[dict[str, Callable[[Workplace], None]]] = {
    "dbt_run": _dbt((0, "seed"), (0, "run")),
    "dbt_test": _dbt((0, "seed"), (0, "run"), (1, "test")),
    "dbt_build": _dbt((1, "build")),
    "dbt_run_broken": _dbt((0, "seed"), (1, _BROKEN)),
    "dbt_logs_build": _dbt((1, "--consume-structured-logs build")),
    "dbt_logs_run_broken": _dbt((0, "seed"), (1, f"--consume-structured-logs {_BROKEN}")),
    "airflow_tested_twice": _airflow_tested_twice,
    "airflow_cleared": _airflow_cleared,
    "spark_good_job": _spark("good_job.py", 0),
    "spark_failing_write": _spark("failing_write.py", 1),
    "spark_failing_driver": _spark("failing_driver.py", 1),
    "java_client": _java,
}
"""By the name of the recording."""
