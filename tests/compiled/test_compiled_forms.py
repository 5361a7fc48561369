"""The compiled forms give what their references in Python give, or leave the text to them."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import hatch_build
import pytest
from benchmarks.generator import generate
from hypothesis import given
from hypothesis import strategies as st

from lineagelog import compiled
from lineagelog.cli.doctor import check_compiled
from lineagelog.event import Event, Rejected, parse
from lineagelog.event.canonical import canonical_of_settled
from lineagelog.event.decoding import RefusedError, decode_event
from lineagelog.event.facets import LOOKED_AT
from lineagelog.postgres import wire
from tests.event.event_samples import run_event, text_of
from tests.event.json_text import JSON_TEXT, PLACES, REAL, event_text
from tests.store.generated import events
from tests.support import ROOT, one_builds

SHARED = Path(os.environ.get("LINEAGELOG_SHARED", ROOT.parent / "shared"))
PARSING = importlib.import_module("lineagelog.event.parse")  # whose name the function of the package hides


@pytest.fixture(scope="module")
def forms() -> Any:
    """The extension module, built from the sources of this checkout."""
    try:
        with one_builds():
            library = hatch_build.build()  # no more than a look, where `make` has done it
    except hatch_build.CannotBuildError as error:
        pytest.skip(f"native/ could not be built: {error}")
    spec = importlib.util.spec_from_file_location("lineagelog._compiled", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def scanning(forms: Any) -> Any:
    """A parse that uses the scanner of the fresh build."""
    scanner = forms.Scanner(LOOKED_AT)

    def scanned(data: bytes) -> Event | Rejected:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PARSING, "_SCANNER", scanner)
            return parse(data)

    return scanned


def in_python(data: bytes) -> Event | Rejected:
    """The reference: parsing without a scanner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PARSING, "_SCANNER", None)
        return parse(data)


def hash_of(forms: Any, data: bytes) -> bytes | None:
    """The hash of the canonical text as the scanner writes it; None where it leaves the text to the reference."""
    found = forms.Scanner({}).scan(data)
    return None if found is None else found[1]


def reference_hash(data: bytes) -> bytes | None:
    """The hash of the canonical text as Python writes it; None for what is no event's text."""
    try:
        decoded = decode_event(data)
    except RefusedError:
        return None
    assert sha256(canonical_of_settled(decoded.tree)).digest() == decoded.event_hash
    return decoded.event_hash


# --- scanning -----------------------------------------------------------------------------------------------------


@pytest.mark.long
@given(JSON_TEXT.map(lambda text: b'{"a":' + text.encode("utf-8", "surrogatepass") + b"}"))
def test_canonical_text_of_any_object_is_that_of_the_reference(forms: Any, data: bytes) -> None:
    """Whatever the spelling, the compiled form gives the reference's text or none at all."""
    found = hash_of(forms, data)
    assert found is None or found == reference_hash(data)


@given(st.binary(max_size=40) | JSON_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_text_that_is_no_object_is_left_to_the_reference(forms: Any, data: bytes) -> None:
    """Bytes of any kind: none of them gives another answer, and nothing but a JSON object gives one."""
    found = hash_of(forms, data)
    assert found is None or found == reference_hash(data)


@pytest.mark.parametrize(
    ("number", "written"),
    [("1.50", "1.5"), ("2.0", "2"), ("-3.250", "-3.25"), ("0.001", "0.001"), ("123456789012345678", None), ("0", "0")],
)
def test_plain_numbers_are_written_by_value(forms: Any, number: str, written: str | None) -> None:
    """Zeros at the end go, and with them the point."""
    assert hash_of(forms, f'{{"n": {number}}}'.encode()) == sha256(f'{{"n":{written or number}}}'.encode()).digest()


@pytest.mark.parametrize(
    "value",
    ["1e5", "1E-3", "-0", "-0.0", "0.00001", "1234567890123456789", "0.1234567890123456", "01", "1.", ".5", "+1"],
)
def test_other_numbers_are_left_to_the_reference(forms: Any, value: str) -> None:
    """No number is rewritten that a double or the serializer might write in another way."""
    assert hash_of(forms, f'{{"n":{value}}}'.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"b":{"x":1,"a":0,"x":1}}',
        b'{"\\u0061":1,"a":2}',
        b'{"a":"\\ud800"}',
        b'{"a":"\\u0000"}',
        b'{"a":"\x01"}',
        b'{"a":"\xff"}',
        b'{"a":1}x',
        b'{"a":[1,]}',
        b'{"a":tru}',
        b'{"a"',
        b'{"a":"b',
        b'{"a":"\\u12',
        b"[" * 1000,
        b'{"a":' * 1000,
        b"\xef\xbb\xbf{}",
        b"",
    ],
)
def test_what_is_not_plain_is_left_to_the_reference(forms: Any, text: bytes) -> None:
    """Equal keys, what jsonb refuses, deep nesting and broken JSON."""
    assert hash_of(forms, text) is None


def test_plain_events_are_not_left_to_the_reference(forms: Any) -> None:
    """The scanner is of use: it takes every event of the generator, compact and spaced."""
    scanner = forms.Scanner(LOOKED_AT)
    assert all(scanner.scan(body) is not None for body in REAL)


def test_everything_wanted_is_what_the_reference_decodes(forms: Any) -> None:
    """Values of every kind come out as Python's decoder gives them."""
    tree = {
        "text": 'quote " slash \\ / line\n tab\t bell\b feed\f return\r ü 漢 \U0001f600 \x7f',
        "numbers": [0, -1, 7.25, -0.5, 10**17],
        "words": [True, False, None],
        "empty": [{}, [], ""],
    }
    for spelt in (json.dumps(tree), json.dumps(tree, ensure_ascii=False, separators=(",", ":"))):
        found = forms.Scanner(True).scan(spelt.encode())
        assert found[0] == decode_event(spelt.encode()).tree
        assert [type(number) for number in found[0]["numbers"]] == [int, int, float, float, int]


@given(events)
def test_generated_events_parse_to_the_same(scanning: Any, data: bytes) -> None:
    """Scanned or not, an event says the same."""
    assert scanning(data) == in_python(data)


@given(PLACES, JSON_TEXT)
def test_events_with_anything_anywhere_parse_to_the_same(scanning: Any, place: str, value: str) -> None:
    """The same event with the same notices in the same order, or the same refusal."""
    data = event_text(place, value)
    assert scanning(data) == in_python(data)


def test_facets_of_wrong_types_give_the_same_notices(scanning: Any) -> None:
    """Notices go by the names of the facets, in whatever order these were sent."""
    facets = {"version": 3, "stats": {"rowCount": "many"}, "schema": {"fields": {}}, "columnLineage": {"fields": 7}}
    event = text_of(run_event(inputs=[{"namespace": "db", "name": "t", "facets": facets}]))
    found = scanning(event)
    assert found == in_python(event)
    assert [notice.path.split(".")[3] for notice in found.notices] == ["schema", "stats", "version"]


@pytest.mark.parametrize(
    ("facets", "noticed"),
    [
        ({"inputStatistics": {"rowCount": 5}, "dataQualityMetrics": {"rowCount": "many"}}, 1),
        ({"stats": {"rowCount": "many"}, "outputStatistics": {"rowCount": 5}}, 0),
    ],
)
def test_the_order_of_facets_changes_nothing(scanning: Any, facets: dict[str, Any], noticed: int) -> None:
    """Whether a value is looked at where an earlier line of the table has a better one is not up to the sender."""
    for sent in (facets, dict(reversed(facets.items()))):
        data = text_of(run_event(inputs=[{"namespace": "db", "name": "t", "facets": sent}]))
        found = scanning(data)
        assert found == in_python(data)
        assert (len(found.notices), found.datasets[0].row_count) == (noticed, 5)


def test_real_events_parse_to_the_same(scanning: Any) -> None:
    """The generator's, and those of the corpus where it is at hand."""
    bodies = [*REAL, *generate(500, seed=11)]
    for path in sorted(SHARED.glob("corpus/**/*")):
        if path.suffix in (".json", ".ndjson", ".jsonl", ".gz"):
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            bodies += [data, *data.splitlines()]
    for body in bodies:
        assert scanning(body) == in_python(body)


# --- keys and rows ------------------------------------------------------------------------------------------------

TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5, minutes=-30))]))
INT64 = st.integers(-(2**63), 2**63 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "t": st.text(st.characters(codec="utf-8")),
    "z": TIMES.filter(lambda time: 1 < time.year < 9999),
    "x": st.binary(),
    "j": st.binary(),
    "o": st.booleans(),
    "q": INT64,
    "i": st.integers(-(2**31), 2**31 - 1),
}


@given(st.lists(st.none() | st.text(st.characters(codec="utf-8")), max_size=5))
def test_name_key_is_that_of_the_reference(forms: Any, parts: list[str | None]) -> None:
    """Keys of rows do not depend on who made them."""
    assert forms.name_key(*parts) == compiled.REFERENCES["name_key"](*parts)


@pytest.mark.parametrize("code", VALUES)
@given(data=st.data())
def test_arrays_are_those_of_the_reference(forms: Any, code: str, data: st.DataObject) -> None:
    """Every kind of column, with and without NULLs."""
    values = data.draw(st.lists(st.none() | VALUES[code], max_size=6))
    found = forms.encode_array(ord(code), 25, values)
    assert found == compiled.REFERENCES["encode_array"](ord(code), 25, values)


@given(data=st.data())
def test_rows_are_those_of_the_reference(forms: Any, data: st.DataObject) -> None:
    """Whole tables for COPY."""
    codes = "".join(data.draw(st.lists(st.sampled_from("tzxjoqi"), max_size=5)))
    row = st.tuples(*[st.none() | VALUES[code] for code in codes])
    rows = data.draw(st.lists(row, max_size=4))
    found = forms.encode_rows(codes.encode(), rows)
    assert found == compiled.REFERENCES["encode_rows"](codes.encode(), rows)


def test_times_of_all_years_are_exact(forms: Any) -> None:
    """Leap years, the ends of the calendar, microseconds."""
    times = [datetime(year, month, 28, 23, 59, 59, 999_999, UTC) for year in range(1, 10_000, 7) for month in (1, 2, 3)]
    times += [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), datetime(2000, 2, 29, tzinfo=UTC)]
    assert forms.encode_array(ord("z"), 1184, times) == compiled.REFERENCES["encode_array"](ord("z"), 1184, times)


@pytest.mark.parametrize(
    ("code", "value"),
    [("t", b"x"), ("z", datetime(2026, 1, 1)), ("q", 2**63), ("o", "x"), ("?", 1)],  # noqa: DTZ001
)
def test_values_of_another_type_are_refused(forms: Any, code: str, value: Any) -> None:
    """A wrong value is an error, never bytes that say something else."""
    with pytest.raises((TypeError, ValueError, OverflowError)):
        forms.encode_array(ord(code), 25, [value])


def test_rows_of_another_width_are_refused(forms: Any) -> None:
    """A row has as many values as there are columns."""
    with pytest.raises(ValueError, match="columns"):
        forms.encode_rows(b"ti", [("a",)])


# --- the choice ---------------------------------------------------------------------------------------------------


def test_every_reference_has_a_compiled_form(forms: Any) -> None:
    """A form that is renamed on one side only would silently not be used."""
    assert wire.encode_array.__name__ in compiled.REFERENCES
    assert [name for name in compiled.REFERENCES if not hasattr(forms, name)] == []


def test_compiled_forms_can_be_left_aside() -> None:
    """LINEAGELOG_PURE=1 gives pure Python, whatever was built."""
    script = "from lineagelog import compiled; from lineagelog.event import parse; print(compiled.status)"
    environment = os.environ | {"LINEAGELOG_PURE": "1"}
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "left aside by LINEAGELOG_PURE"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ModuleNotFoundError('no _compiled')", "not in this installation"),
        ("raise ImportError('version GLIBC_9.9 not found')", "cannot be loaded"),
        ("", "in use"),
    ],
)
def test_what_became_of_the_compiled_forms_is_said(tmp_path: Path, source: str, said: str) -> None:
    """Built, not built, or built for another machine: the first is used, the last has advice in `doctor`."""
    package = tmp_path / "lineagelog"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(str(compiled.__file__), package / "compiled.py")
    (package / "_compiled.py").write_text(source, encoding="utf-8")
    script = "from lineagelog import compiled; print(compiled.IN_USE, compiled.status, compiled.unusable)"
    environment = {name: value for name, value in os.environ.items() if name != "LINEAGELOG_PURE"}
    command = [sys.executable, "-c", script]
    environment["PYTHONPATH"] = str(tmp_path)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert said in done.stdout
    assert ("True" in done.stdout) == (said == "in use")
    assert ("GLIBC_9.9" in done.stdout) == (said == "cannot be loaded")
    advice = check_compiled(said, "version GLIBC_9.9 not found" if "loaded" in said else None).advice
    assert ("GLIBC_9.9" in (advice or "")) == (said == "cannot be loaded")
