"""Settings: where they come from, which wins, and what a mistake looks like."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from lineagelog.cli.session import with_password
from lineagelog.errors import SettingsError
from lineagelog.forward import read_target
from lineagelog.settings import Settings, config_file, load_settings, override, template_text
from tests.support import run_here


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def test_the_commented_file_has_every_key_with_its_default() -> None:
    """config/lineagelog.toml with its comment signs taken away has all keys of Settings, defaults equal."""
    defaults = _flat(Settings().model_dump(by_alias=True, mode="json", exclude={"analyse": {"rules", "schedule"}}))
    text = re.sub(r"^# (?=[a-z_]+ = )", "", template_text(), flags=re.MULTILINE)
    shown = _flat(tomllib.loads(text))
    assert sorted(defaults) == sorted(shown)
    assert {key: value for key, value in defaults.items() if value is not None} == {
        key: shown[key] for key, value in defaults.items() if value is not None
    }


def test_the_commented_target_of_forwarding_is_one() -> None:
    """[forward.NAME] with its comment signs taken away can be used."""
    section = template_text().partition("# [forward.NAME]\n")[2]
    keys = re.findall(r"^#   ([a-z_]+ = .+)$", section, flags=re.MULTILINE)
    target = read_target("marquez", tomllib.loads("\n".join(keys)))
    assert (len(keys), target.is_served, target.selection.not_namespaces) == (4, True, ("prod-test",))


def test_the_commented_file_changes_nothing_as_it_is(tmp_path: Path) -> None:
    """Copied unchanged it is valid and sets nothing."""
    (tmp_path / "lineagelog.toml").write_text(template_text())
    assert Settings() == load_settings(tmp_path / "lineagelog.toml")


def test_options_win_over_variables_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each layer gives what the one above does not; tables are merged key by key."""
    file = tmp_path / "own.toml"
    file.write_text('schema = "f"\ndatabase = "postgresql://f/f"\n[server]\nport = 1\nhost = "f"\nstop_seconds = 7\n')
    monkeypatch.setenv("LINEAGELOG_CONFIG", str(file))
    monkeypatch.setenv("LINEAGELOG_SCHEMA", "v")
    monkeypatch.setenv("LINEAGELOG_SERVER__PORT", "2")
    monkeypatch.setenv("LINEAGELOG_SERVER__HOST", "v")
    settings = load_settings(options={"schema": "o", "database": None, "server": {"port": 3, "host": None}})
    assert (settings.schema_name, settings.database) == ("o", "postgresql://f/f")
    assert (settings.server.port, settings.server.host, settings.server.stop_seconds) == (3, "v", 7)


def test_the_file_is_looked_for_here_and_then_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """./lineagelog.toml before ~/.config/lineagelog/config.toml; none is fine."""
    home, here = tmp_path / "home" / "lineagelog" / "config.toml", tmp_path / "here"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    here.mkdir()
    monkeypatch.chdir(here)
    assert config_file() is None
    home.parent.mkdir(parents=True)
    home.write_text("")
    assert home == config_file()
    Path("lineagelog.toml").write_text("")
    assert Path("lineagelog.toml") == config_file()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prot = 1", "{file}: unknown key 'prot'"),
        ("[server]\nprot = 1", "{file}: unknown key 'server.prot'"),
        ("[server]\nport = 'x'", "{file}: 'server.port': input should be a valid integer"),
        ("[server]\nport = 70000", "{file}: 'server.port': input should be less than or equal to 65535"),
        ("[log]\nlevel = 'loud'", "{file}: 'log.level': input should be 'debug', 'info', 'warning' or 'error'"),
        ("server = 1", "{file}: 'server': input should be a valid dictionary"),
        ("[server\n", "the settings file {file} is not valid TOML"),
        ("schema_name = 'x'", "{file}: unknown key 'schema_name'"),
    ],
)
def test_a_mistake_in_the_file_names_key_and_file(tmp_path: Path, content: str, message: str) -> None:
    """The error is one line that starts with where the mistake is."""
    file = tmp_path / "bad.toml"
    file.write_text(content)
    with pytest.raises(SettingsError) as raised:
        load_settings(file)
    assert str(raised.value).startswith(message.format(file=file))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LINEAGELOG_SERVER__PROT", "1", "variable LINEAGELOG_SERVER__PROT: unknown key 'server.prot'"),
        ("LINEAGELOG_INTAKE__BATCH", "0", "variable LINEAGELOG_INTAKE__BATCH: 'intake.batch': input should be greater"),
        ("LINEAGELOG_SERVER", "{", "the LINEAGELOG_* variables cannot be read"),
        ("LINEAGELOG_CONFIG", "/nowhere.toml", "the settings file /nowhere.toml is not there"),
    ],
)
def test_a_mistake_in_a_variable_names_it(monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str) -> None:
    """The variable is named as the user wrote it."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as raised:
        load_settings()
    assert str(raised.value).startswith(message)


def test_a_mistake_in_an_option_names_it() -> None:
    """Also for options of one command only."""
    with pytest.raises(SettingsError, match=r"option --port: 'server.port'"):
        override(Settings(), {"server": {"port": 99999}})


def test_a_secret_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """`config` masks the password of the URL, in both forms; an error about the URL does, too."""
    monkeypatch.setenv("LINEAGELOG_DATABASE", "postgresql://me:s3cret@127.0.0.1:1/x?connect_timeout=1")
    for ran in (run_here("config"), run_here("config", "--json"), run_here("list", "runs")):
        assert "s3cret" not in ran.out + ran.err
    assert "postgresql://me:***@127.0.0.1:1/x" in run_here("config").out
    assert "s3cret" not in run_here("list", "runs", "--database", "mysql://me:s3cret@h/x").err


def test_config_prints_what_the_file_would_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its output is a settings file that gives the same settings again."""
    monkeypatch.setenv("LINEAGELOG_SCHEMA", 'say "hi"')
    ran = run_here("config")
    (tmp_path / "again.toml").write_text(ran.out)
    monkeypatch.delenv("LINEAGELOG_SCHEMA")
    assert load_settings(tmp_path / "again.toml").schema_name == 'say "hi"'
    assert template_text() == run_here("config", "--template").out


@pytest.mark.long
def test_the_password_comes_from_a_file(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """database_password_file is put into the URL, any characters; mistakes are told in one line."""
    file = tmp_path / "password"
    file.write_text("p@ss/w:rd\n")
    monkeypatch.setenv("LINEAGELOG_DATABASE_PASSWORD_FILE", str(file))
    assert run_here("store", "init", "--database", database_url).code == 0  # trusted: the password is not looked at
    ran = run_here("store", "init", "--database", database_url.replace("lineagelog@", "@"))
    assert (ran.code, "needs a database URL with a user" in ran.err) == (2, True)
    file.unlink()
    ran = run_here("store", "init", "--database", database_url)
    expected = f"lineagelog: the password file {file} cannot be read: No such file or directory\n"
    assert (2, expected) == (ran.code, ran.err)


def test_the_password_reaches_the_driver_unharmed(tmp_path: Path) -> None:
    """Characters that mean something in a URL stay what they are."""
    (tmp_path / "password").write_text("p@ss/w:rd%20 ä\n")
    url = make_url(with_password("postgresql://me@h:1/x?sslmode=require", tmp_path / "password"))
    assert (url.username, url.password, url.host, url.database) == ("me", "p@ss/w:rd%20 ä", "h", "x")
