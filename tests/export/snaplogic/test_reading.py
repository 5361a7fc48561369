"""Inputs that cannot be used: one line with the file, the place and what to do; odd ones: a finding, and the
rest is exported."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineagelog.errors import InputError
from lineagelog.export.snaplogic import (
    PipelineExport,
    PipelineExportOptions,
    Source,
    export_snaplogic,
    problems,
    read_classes,
)
from tests.support import EXAMPLES

from .build import SAMPLES, Json, Sample, contents, orders_join, router_errors
from .support import datasets, event, export, source

if TYPE_CHECKING:
    from collections.abc import Callable

JOIN = orders_join()


def run(pipeline: object, ran: object, **options: Any) -> PipelineExport:
    """Export two documents, given as values or bytes."""
    encoded = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in (pipeline, ran)]
    return export_snaplogic(
        [Source("p.slp", encoded[0])], [Source("run.json", encoded[1])], PipelineExportOptions(**options)
    )


def changed(document: Json, *path: str, value: Any) -> Json:
    """A copy with one value replaced (deleted when `value` is Ellipsis)."""
    made = copy.deepcopy(document)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


def test_the_samples_are_what_the_builder_makes() -> None:
    """The files in samples/ are written by the builder, not by hand."""
    for name, data in contents().items():
        assert (SAMPLES / name).read_bytes() == data, name


SNAP = JOIN.id("order")
BROKEN: list[tuple[str, Callable[[], tuple[object, object]], list[str]]] = [
    (
        "not JSON",
        lambda: (b'{"snap_map": {,', JOIN.run()),
        ["p.slp: line 1, column 15", "not JSON", "export the file again"],
    ),
    ("empty", lambda: (b"", JOIN.run()), ["p.slp: line 1", "not JSON"]),
    ("not UTF-8", lambda: (b'{"a": "\xff"}', JOIN.run()), ["p.slp: byte 7", "not UTF-8", "UTF-8"]),
    ("no pipeline", lambda: ({"a": 1}, JOIN.run()), ["p.slp: $", "no snap_map", "export the pipeline again"]),
    ("swapped", lambda: (JOIN.run(), JOIN.pipeline()), ["p.slp", "looks like run information", "--run"]),
    ("a list", lambda: ([1, 2], JOIN.run()), ["p.slp: $", "no snap_map"]),
    (
        "no links",
        lambda: (changed(JOIN.pipeline(), "link_map", value=...), JOIN.run()),
        ["p.slp: $", "no link_map", "again"],
    ),
    (
        "links a list",
        lambda: (changed(JOIN.pipeline(), "link_map", value=[1]), JOIN.run()),
        ["p.slp: link_map", "found a list"],
    ),
    (
        "settings a text",
        lambda: (
            changed(JOIN.pipeline(), "snap_map", SNAP, "property_map", "settings", value="x"),
            JOIN.run(),
        ),
        [f"p.slp: snap_map.{SNAP}.property_map.settings", "expected an object, found a text"],
    ),
    (
        "mapping table an object",
        lambda: (
            changed(
                JOIN.pipeline(),
                "snap_map",
                SNAP,
                "property_map",
                "settings",
                "transformations",
                "value",
                "mappingTable",
                value={"value": {"a": 1}},
            ),
            JOIN.run(),
        ),
        [
            f"p.slp: snap_map.{SNAP}.property_map.settings.transformations.value.mappingTable.value",
            "expected a list",
        ],
    ),
    (
        "label a list",
        lambda: (
            changed(JOIN.pipeline(), "snap_map", SNAP, "property_map", "info", "label", value={"value": [1]}),
            JOIN.run(),
        ),
        ["property_map.info.label.value", "expected a text, found a list"],
    ),
    ("run not JSON", lambda: (JOIN.pipeline(), b"nope"), ["run.json: line 1", "not JSON"]),
    ("run empty list", lambda: (JOIN.pipeline(), []), ["run.json: $", "empty list", "level=detail"]),
    (
        "run list answer",
        lambda: (JOIN.pipeline(), {"response_map": {"entries": [{"id": "x"}]}}),
        ["run.json", "list of runs", "level=detail"],
    ),
    (
        "run summary",
        lambda: (JOIN.pipeline(), changed(JOIN.run(), "response_map", "snap_map", value=...)),
        ["run.json: response_map", "level=summary", "level=detail"],
    ),
    (
        "run without id",
        lambda: (JOIN.pipeline(), {"response_map": {"snap_map": {}}}),
        ["run.json: response_map", "no ruuid"],
    ),
    (
        "run id odd",
        lambda: (JOIN.pipeline(), changed(JOIN.run(), "response_map", "ruuid", value="abc_def")),
        ["response_map.ruuid", "'abc_def'", "<uuid>"],
    ),
    (
        "run time odd",
        lambda: (JOIN.pipeline(), changed(JOIN.run(), "response_map", "time_stamp", value="soon")),
        ["response_map.time_stamp", "'soon'", "ISO 8601"],
    ),
    (
        "run of another pipeline",
        lambda: (JOIN.pipeline(), router_errors().run()),
        ["run.json", "'Route orders'", "give the .slp file"],
    ),
    (
        "run snaps a list",
        lambda: (JOIN.pipeline(), changed(JOIN.run(), "response_map", "snap_map", value=[1])),
        ["run.json: response_map.snap_map", "found a list"],
    ),
]


@pytest.mark.parametrize(("make", "parts"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_damaged_input_names_file_place_and_remedy(
    make: Callable[[], tuple[object, object]], parts: list[str]
) -> None:
    """One line, no traceback."""
    with pytest.raises(InputError) as caught:
        run(*make())
    text = str(caught.value)
    assert "\n" not in text
    assert all(part in text for part in parts), text


def test_no_run_information_at_all() -> None:
    """It says which option takes it."""
    with pytest.raises(InputError, match=r"join\.slp: no run information.*--run"):
        export_snaplogic([source("join.slp")], [])


def test_a_second_pipeline_without_its_run() -> None:
    """The pipeline is named."""
    with pytest.raises(InputError, match=r"child\.slp: \$: no run information for pipeline 'Child'"):
        export_snaplogic([source("parent.slp"), source("child.slp")], [source("parent.run.json")])


def test_a_dangling_link_is_named_and_the_rest_is_exported() -> None:
    """The Snap behind it has one input less, everything else is as before."""
    pipeline = JOIN.pipeline()
    name = next(key for key, link in pipeline["link_map"].items() if link["src_id"] == JOIN.id("customer"))
    exported = run(changed(pipeline, "link_map", name, "src_id", value="gone"), JOIN.run())
    assert any(name in finding.message and "'gone'" in finding.message for finding in exported.findings)
    assert len(exported.events) == len(JOIN.snaps)
    assert datasets(event(exported, "Join")["inputs"]) == ["SnapLogic | Order: shape"]
    assert problems(exported.events, modern=False) == []


def test_a_pipeline_with_an_empty_link_map_is_exported_with_a_warning() -> None:
    """Every Snap stands alone."""
    exported = run(changed(JOIN.pipeline(), "link_map", value={}), JOIN.run())
    assert any("no links between 9 Snaps" in finding.message for finding in exported.findings)
    assert len(exported.events) == 9


def test_links_in_a_circle_end_and_are_told() -> None:
    """No Snap is lost."""
    pipeline = JOIN.pipeline()
    ends = {"src_id": JOIN.id("copy"), "dst_id": JOIN.id("order")}
    pipeline["link_map"]["back"] = {**ends, "src_view_id": "output0", "dst_view_id": "input0"}
    exported = run(pipeline, JOIN.run())
    assert any("circle" in finding.message for finding in exported.findings)
    assert len(exported.events) == 9


def test_a_snap_that_did_not_run_has_no_event() -> None:
    """A warning names it; a Snap that ran but is not in the file is told, too."""
    ran = changed(JOIN.run(), "response_map", "snap_map", JOIN.id("raw"), value=...)
    ran["response_map"]["snap_map"]["other"] = {"label": "Other", "state": "Completed"}
    exported = run(JOIN.pipeline(), ran)
    texts = [str(finding) for finding in exported.findings]
    assert any("'Load raw' is not among those that ran" in text for text in texts)
    assert any("'Other' (other) ran but is not in p.slp" in text for text in texts)
    assert len(exported.events) == 8


def test_a_disabled_snap_is_a_note_only() -> None:
    """It did not run because nobody wanted it to."""
    notes = [finding for finding in export("artifact").findings if finding.severity == "note"]
    assert ["'Off' is disabled" in note.message for note in notes] == [True]


def test_the_artifact_dialect_takes_real_ids_and_the_runs_label() -> None:
    """Placeholder ids are in no event; without the id map the labels join the two."""
    exported = export("artifact")
    assert "11111111-1111" not in json.dumps(exported.events)
    assert event(exported, "Query")["job"]["name"].startswith("Nightly export:Query:")
    ran = json.loads(source("artifact.run.json").data)
    ran["response_map"]["artifact_snap_id_map"] = {}
    by_label = run(source("Nightly export.slp").data, ran)
    assert [item["run"]["runId"] for item in by_label.events] == [item["run"]["runId"] for item in exported.events]


def test_other_wrappings_are_read() -> None:
    """A project export, an asset answer, a bare run, a list of runs, a byte order mark."""
    pipeline, ran = JOIN.pipeline(), JOIN.run()
    wanted = run(pipeline, ran).events
    project = {"entries": [{"asset": pipeline}, {"class_id": "com-snaplogic-task", "property_map": {}}]}
    assert run(project, [ran]).events == wanted
    assert run({"response_map": pipeline}, ran["response_map"]).events == wanted
    assert run(b"\xef\xbb\xbf" + json.dumps(pipeline).encode(), ran).events == wanted


def test_a_join_with_two_open_sides_asks_both_and_warns() -> None:
    """Neither table lists its columns: a field that no key settles may come from either; keys are certain."""
    sample = Sample("open", "Open join")
    for side in ("left", "right"):
        settings = {"schemaName": {"value": "s"}, "tableName": {"value": side}}
        sample.snap(side, "postgres-select", side, settings, inputs={}, outputs={"outputRows": "rows"})
    row = {"leftPath": {"value": "$a"}, "rightPath": {"value": "$b"}, "rightInputView": {"value": "r"}}
    sample.snap("join", "transform-multijoin", "Join", {"joinPaths": {"value": [row]}}, inputs={"i0": "l", "i1": "r"})
    rows = [{"expression": {"value": f"${name}", "expression": True}, "targetPath": {"value": name}} for name in "abc"]
    sample.snap(
        "map",
        "transform-datatransform",
        "Map",
        {"transformations": {"value": {"mappingTable": {"value": rows}}}},
    )
    sample.link("left", "join", "map")
    sample.link("right", "join@i1")
    exported = run(sample.pipeline(), sample.run())
    fields = event(exported, "Join")["outputs"][0]["facets"]["columnLineage"]["fields"]
    origins = {
        name: [origin["name"].partition(":")[0] for origin in column["inputFields"]] for name, column in fields.items()
    }
    assert origins == {"a": ["left"], "b": ["right"], "c": ["left", "right"]}
    assert any("c may come from either" in finding.message for finding in exported.findings)
    told = run(sample.pipeline(), sample.run(), columns={"s.right": ("b", "c")})
    fields = event(told, "Join")["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert [origin["name"].partition(":")[0] for origin in fields["c"]["inputFields"]] == ["right"]


def test_own_snap_classes_can_be_taught() -> None:
    """Role, system, place and settings of a class that nobody knows; a wrong role is an error with its
    place."""
    sample = Sample("own", "Own")
    sample.snap("read", "acme-readthings", "Read", {"schemaName": {"value": "s"}, "thing": {"value": "t"}}, inputs={})
    taught = {
        "com-snaplogic-snaps-acme-readthings": {
            "role": "read",
            "system": "Acme",
            "place": "table",
            "settings": ["schemaName", "thing"],
        }
    }
    classes = read_classes(json.dumps(taught).encode(), "classes.json", "com-snaplogic-snaps-")
    exported = run(sample.pipeline(), sample.run(), classes=classes)
    assert datasets(event(exported, "Read")["inputs"]) == ["Acme | s.t"]
    with pytest.raises(InputError, match=r"classes\.json: x\.role: 'reed' is none of pass, map"):
        read_classes(b'{"x": {"role": "reed"}}', "classes.json", "")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "$", "$a", "x", "value"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["value", "label", "a"]), inner, max_size=2)
    ),
    max_leaves=6,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in members for place in _places(inner, (*path, key)))]


DOCUMENTS = [
    (orders_join().pipeline(), orders_join().run()),
    (router_errors().pipeline(), router_errors().run()),
]


@settings(max_examples=5 * EXAMPLES)
@given(st.data())
def test_any_value_anywhere_gives_events_or_one_line(data: st.DataObject) -> None:
    """Up to three values of pipeline and run replaced by arbitrary JSON: valid events, or an InputError that
    names a file."""
    documents = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 3))):
        document = documents[data.draw(st.integers(0, 1))]
        place = data.draw(st.sampled_from(_places(document)[1:]))
        inner: Any = document
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = data.draw(JSON)
    try:
        exported = run(*documents)
    except InputError as error:
        assert str(error).startswith(("p.slp: ", "run.json: "))
        assert "\n" not in str(error)
    else:
        assert problems(exported.events, modern=False) == []


@given(st.binary(max_size=60))
def test_any_bytes_give_one_line(data: bytes) -> None:
    """As pipeline and as run."""
    for files in ((data, JOIN.run()), (JOIN.pipeline(), data)):
        with pytest.raises(InputError):
            run(*files)
