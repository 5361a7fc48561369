"""The contract double of Egeria, and pyegeria in its own process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineagelog.egeria.remote import Egeria
from lineagelog.settings import EgeriaSettings

from .double import Double, running

PYEGERIA = Path(__file__).parents[2] / ".venv-pyegeria/bin/python"


@pytest.fixture(scope="session")
def pyegeria() -> Path:
    """The Python that has it."""
    if not PYEGERIA.exists():
        pytest.skip("pyegeria is not there: make pyegeria")
    return PYEGERIA


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("egeria")


@pytest.fixture
def double(certificates: Path) -> Iterator[Double]:
    with running(Double(), certificates) as egeria:
        yield egeria


@pytest.fixture
def reach(double: Double, pyegeria: Path, tmp_path: Path) -> EgeriaSettings:
    """Settings that reach the double."""
    password = tmp_path / "password"
    password.write_text(f"{double.password}\n")
    return EgeriaSettings(
        platform_url=double.url,
        view_server=double.view_server,
        user=double.user,
        password_file=password,
        ca_file=double.certificate,
        python=pyegeria,
        calls_per_second=1000,
    )


@pytest.fixture
def egeria(reach: EgeriaSettings) -> Iterator[Egeria]:
    with Egeria(reach) as caller:
        yield caller
