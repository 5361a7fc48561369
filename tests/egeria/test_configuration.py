"""What a connection says becomes the connector's options, and its secrets stay where they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineagelog.egeria.configuration import PROPERTIES, Defaults, Options, place_of, read_options
from lineagelog.errors import SettingsError
from tests.support import ROOT

DEFAULTS = Defaults(
    schema="openlineage",
    spool_folder=Path("/spool"),
    spool_max_bytes=1 << 30,
    wait_seconds=10.0,
    strict=False,
    max_event=1 << 25,
    max_event_values=1_000_000,
    own_place="the embedded database",
)


def options(address: str | None = None, properties: dict[str, Any] | None = None, **more: Any) -> Options:
    return read_options(json.dumps({"name": "c", "address": address, "properties": properties, **more}), DEFAULTS)


def test_nothing_said_is_the_settings_own() -> None:
    """No endpoint: the daemon's database; no property: the settings' values; nulls are nothing."""
    for given in (options(), read_options('{"properties": null, "securedProperties": null, "era": "6.0"}', DEFAULTS)):
        assert (given.address, given.place, given.schema) == (None, "the embedded database", "openlineage")
        assert (given.spool_folder.parent, given.spool_max_bytes) == (Path("/spool"), 1 << 30)
        assert (given.wait_seconds, given.strict, given.max_event) == (10.0, False, 1 << 25)
        assert (given.unknown, given.secrets) == ((), ())


def test_properties_are_texts_or_values() -> None:
    """Egeria's user interface writes texts, a JSON configuration values; both are read."""
    texts = {
        "schema": " own ",
        "spoolFolder": "/s",
        "spoolMaxMegabytes": "5",
        "databaseWaitSeconds": "0.5",
        "strict": "TRUE",
        "maxEventMegabytes": "7",
    }
    values = {**texts, "spoolMaxMegabytes": 5, "databaseWaitSeconds": 0.5, "strict": True, "maxEventMegabytes": 7}
    for given in (options(properties=texts), options(properties=values)):
        assert (given.schema, given.spool_folder.parent, given.spool_max_bytes) == ("own", Path("/s"), 5 << 20)
        assert (given.wait_seconds, given.strict, given.max_event) == (0.5, True, 7 << 20)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spoolMaxMegabytes", "0"),
        ("spoolMaxMegabytes", "many"),
        ("spoolMaxMegabytes", "9" * 5000),
        ("maxEventMegabytes", "257"),
        ("maxEventMegabytes", "²"),
        ("databaseWaitSeconds", "-1"),
        ("databaseWaitSeconds", "nan"),
        ("databaseWaitSeconds", "soon"),
        ("strict", "perhaps"),
        ("secretsFile", "/nowhere/secret"),
    ],
)
def test_a_wrong_value_names_its_property(name: str, value: str) -> None:
    """The error begins with the property."""
    with pytest.raises(SettingsError, match=f"^{name}: "):
        options(properties={name: value})


def test_a_misspelt_property_is_told() -> None:
    """What nobody reads is listed, for a warning."""
    assert options(properties={"shema": "x", "schema": "y"}).unknown == ("shema",)


def test_java_recognises_the_same_properties() -> None:
    """The provider's list is ours."""
    source = next((ROOT / "jars").rglob("ConfigurationProperty.java")).read_text(encoding="utf-8")
    assert [name for name in PROPERTIES if f'("{name}", ' not in source] == []
    assert source.count('("') == len(PROPERTIES)


@pytest.mark.parametrize(
    ("address", "more", "expected"),
    [
        ("postgresql://me:old@h/db", {"clearPassword": "new"}, "postgresql://me:old@h/db"),
        (
            "postgresql://me@h:1/db?sslmode=require",
            {"clearPassword": "p@s/s"},
            "postgresql://me:p%40s%2Fs@h:1/db?sslmode=require",
        ),
        ("jdbc:postgresql://h/db", {"userId": "m e", "clearPassword": "x"}, "postgresql://m%20e:x@h/db"),
        ("postgresql://h/db", {"userId": "me", "securedProperties": {"password": "s"}}, "postgresql://me:s@h/db"),
        ("postgresql://a,b:2/db", {}, "postgresql://a,b:2/db"),
        (
            "jdbc:postgresql://h/db?user=a&password=b",
            {"userId": "me", "clearPassword": "x"},
            "postgresql://a@h/db?user=a&password=b",
        ),
        ("postgresql://h/db?user=a", {"userId": "me", "clearPassword": "x"}, "postgresql://a:x@h/db?user=a"),
        ("  ", {"clearPassword": "x"}, None),
    ],
)
def test_credentials_are_put_into_the_address(address: str, more: dict[str, Any], expected: str | None) -> None:
    """Where it has none itself; JDBC's form of a URL is understood."""
    assert options(address, **more).address == expected


def test_the_password_comes_from_the_secrets_file(tmp_path: Path) -> None:
    """The file wins over the connection's own; whatever the password is, hide() takes it out of texts."""
    (tmp_path / "secret").write_text("s3cr#t\n")
    properties = {"secretsFile": str(tmp_path / "secret")}
    given = options("postgresql://me@h/db", properties, clearPassword="other")
    assert given.address == "postgresql://me:s3cr%23t@h/db"
    assert given.hide(f"no: s3cr#t at {given.address}") == "no: *** at postgresql://me:***@h/db"
    with pytest.raises(SettingsError, match="a password and no user"):
        options("postgresql://h/db", properties)


def test_each_destination_has_a_spool_of_its_own() -> None:
    """The folder depends on database and schema, not on the credentials: a new password finds the old spool."""
    one = options("postgresql://me:a@h/db").spool_folder
    assert one == options("postgresql://you:b@h/db?application_name=x").spool_folder
    others = {
        options("postgresql://h/db2").spool_folder,
        options("postgresql://h/db", {"schema": 'say "hi"/..'}).spool_folder,
    }
    assert len(others | {one, options().spool_folder}) == 4
    assert {folder.parent for folder in others} == {Path("/spool")}


def test_a_place_has_no_credentials() -> None:
    """Neither user nor password nor options are in what people are shown."""
    assert place_of("postgresql://me:secret@h:5/db?password=secret") == "h:5/db"
    assert place_of("postgresql+psycopg://u@/db?host=/run/pg&port=1") == "/run/pg/db"


def test_an_argument_that_is_no_object_is_an_error() -> None:
    """One line, without what it holds."""
    with pytest.raises(SettingsError, match=r"^the connection cannot be read: "):
        read_options('{"name": 5}', DEFAULTS)
