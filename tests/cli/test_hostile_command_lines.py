"""Whatever stands on a command line, in a settings file or a variable: one line and exit code 2, never a traceback."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import typer

from lineagelog.cli import make_app
from tests.support import COMMAND, Ran, run_here, run_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

VALUES = (
    *(
        "",
        " ",
        "-1",
        "0",
        "abc",
        "9" * 30,
        "nan",
        "inf",
        "'",
        '"',
        "'; DROP TABLE x; --",
        "\x1b[2J",
        "\u202e",
        "\udcff",
    ),
    *(
        "%s",
        "{}",
        "[",
        "\\",
        "/nowhere/x",
        "..",
        "x" * 300,
        "9999-12-31",
        "-999999w",
        "postgresql://[::1/x",
        "~nobody-x/y",
    ),
    *("postgresql://h:abc/x", "postgresql://u:p w@127.0.0.1:1/x?connect_timeout=1", "1e999", "--", "a=b", "😀" * 20),
)
ENDLESS = {"serve", "daemon", "consume"}
"""What goes on until it is stopped; their own values are below."""


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _leaves(inner, (*path, name))
    if not getattr(command, "commands", None):
        yield path, command


COMMANDS = [(path, command) for path, command in _leaves(typer.main.get_command(make_app())) if path[0] not in ENDLESS]


def _check(ran: Ran, line: object) -> None:
    assert ran.code in (0, 1, 2), (line, ran)
    assert "Traceback" not in ran.out + ran.err, (line, ran)
    assert "internal error" not in ran.err, (line, ran)
    assert ran.code != 2 or ran.err.count("\n") == 1, (line, ran)


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "command"), COMMANDS, ids=lambda value: " ".join(value) if type(value) is tuple else ""
)
def test_every_option_of_every_command(
    run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: tuple[str, ...], command: Any
) -> None:
    """Each option and argument takes some of the hostile values, others for each."""
    monkeypatch.chdir(tmp_path)
    wanted = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.is_flag and each.opts]
    step = 0
    for option in options:
        for _ in range(3):
            step += 7
            line = (*path, *("1" for _ in wanted), option.opts[0], VALUES[step % len(VALUES)])
            _check(run(*line), line)
    for value in VALUES if wanted else ():
        line = (*path, *(value for _ in wanted))
        _check(run(*line), line)
    line = (*path, "--nope\x1b")
    _check(run(*line), line)


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--port", "99999"),
        ("serve", "--port", "-1"),
        ("serve", "--port", "http"),
        ("serve", "--tls-key", "key.pem"),
        ("serve", "--tls-key", "key.pem", "--tls-cert", "/nowhere/cert.pem"),
        ("serve", "--host", "a b"),
        ("serve", "--host", "\udcff"),
        ("serve", "--log-level", "loud"),
        ("daemon", "--platform", "/nowhere"),
        ("daemon", "--java", ""),
        ("consume", "--brokers", "", "--topic", ""),
        ("consume", "--brokers", "b", "--topic", "t", "--start-timeout", "nan"),
        ("consume", "--brokers", "b", "--topic", "t", "--kafka-option", "="),
        ("consume", "--brokers", "b", "--topic", "t", "--metrics-port", "65536"),
    ],
)
def test_what_cannot_be_started(run: Callable[..., Ran], arguments: tuple[str, ...]) -> None:
    """Addresses, ports, TLS files."""
    ran = run(*arguments)
    _check(ran, arguments)
    assert ran.code == 2


def test_a_tls_key_without_a_certificate(run: Callable[..., Ran]) -> None:
    """It names what is missing, before a database is asked."""
    said = run("serve", "--tls-key", "key.pem", "--database", "postgresql://u@127.0.0.1:1/x").err
    assert said == "lineagelog: the TLS key key.pem has no certificate: give tls_cert (--tls-cert), too\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"x = [",
        b"server = 3",
        b"data_dir = 3",
        b'data_dir = "~nobody-of-that-name/x"',
        b"forward = 3",
        b"forward = { a = 3 }",
        b"[server]\nport = 65536",
        b"[server]\nport = 1.5",
        b"[consume]\nlinger = nan",
        b"[consume]\nkafka = { a = [1] }",
        b"schema = '\"'\n[nope]",
        b"\x00",
    ],
)
def test_settings_files(tmp_path: Path, content: bytes) -> None:
    """Not TOML, not UTF-8, wrong types."""
    file = tmp_path / "settings.toml"
    file.write_bytes(content)
    ran = run_here("config", "--config", str(file))
    _check(ran, content)
    assert ran.code == 2
    assert "<class" not in ran.err
    assert "Settings" not in ran.err


def test_a_settings_file_that_is_a_folder(tmp_path: Path) -> None:
    """It says so."""
    assert (
        run_here("config", "--config", str(tmp_path)).err == f"lineagelog: the settings file {tmp_path} is a folder\n"
    )


@pytest.mark.parametrize("value", ["x", "{", "[]", "\udcff", "1"])
@pytest.mark.parametrize("name", ["SERVER", "FORWARD", "SERVER__PORT", "DAEMON__ARGUMENTS", "DATA_DIR", "CONFIG"])
def test_variables(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Named, without the words of a program."""
    monkeypatch.setenv(f"LINEAGELOG_{name}", value)
    ran = run_here("config")
    _check(ran, (name, value))
    assert "Source" not in ran.err


@pytest.mark.parametrize("name", ['a"b', "a$b", "a`b", "a\nb"])
def test_a_data_directory_that_initdb_cannot_use(tmp_path: Path, name: str) -> None:
    """Refused at once, and says why; nothing is made."""
    ran = run_here("list", "runs", "--data-dir", str(tmp_path / name))
    _check(ran, name)
    assert "initdb does not work where a path holds" in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "| head -c 1"])
def test_closed_streams(closed: str) -> None:
    """Whatever the caller closed: no noise, and the exit code of the command itself."""
    line = f"'{COMMAND}' config {closed}"
    done = subprocess.run(["/bin/bash", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    line = f"'{COMMAND}' nope {closed}"
    done = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", line], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == (0 if "2>" in closed else 1)


def test_an_output_that_cannot_take_every_character(tmp_path: Path) -> None:
    """Names in other scripts are shown as escapes where the output's encoding has none."""
    file = tmp_path / "settings.toml"
    file.write_text('data_dir = "/ключ"', encoding="utf-8")
    ran = run_process("config", "--config", str(file), PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert r"\u043a\u043b\u044e\u0447" in ran.out


def test_config_shows_no_secret(tmp_path: Path) -> None:
    """Neither of URLs, headers, options of Kafka and the JVM, arguments, nor the database's."""
    file = tmp_path / "settings.toml"
    file.write_text(
        """
database = "postgresql://me:hun ter2 hunter2@h/x?password=hunter2"
[daemon]
jvm_options = ["-Dssl.keyStorePassword=hunter2", "-Dx.token=hunter2"]
arguments = ["--password", "hunter2", "--db.password=hunter2"]
[consume]
brokers = "b:1"
kafka = { "sasl.password" = "hunter2", "ssl.key.pem" = "hunter2", "sasl.jaas.config" = 'x password="hunter2";' }
[forward.a]
url = "https://me:hunter2@h/x?token=hunter2&sig=hunter2"
headers = { "X-Any" = "hunter2" }
auth = { type = "bearer", secret = "hunter2" }
[forward.b]
url = "kafka://h/t"
kafka = { "oauthbearer.client.secret" = "hunter2" }
""",
        encoding="utf-8",
    )
    for form in ((), ("--json",)):
        ran = run_here("config", "--config", str(file), *form)
        assert ran.code == 0
        assert "hunter2" not in ran.out
        assert "ter2" not in ran.out
        assert ran.out.count("***") >= 12


@pytest.mark.parametrize(
    "url", ["u:hunter2@h", "mysql://u:hun hunter2@h/x", "postgresql://u:p hunter2@h:x/y", "u:a@hunter2@h"]
)
def test_errors_show_no_password_of_the_database(url: str) -> None:
    """Whatever form the URL has."""
    ran = run_here("list", "runs", "--database", url)
    _check(ran, url)
    assert ran.code == 2
    assert "hunter2" not in ran.err
