"""Events as text, made of all that JSON may be: for properties that must hold for whatever is sent."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.generator import generate
from hypothesis import strategies as st

from .event_samples import run_event

REAL = list(generate(60, seed=5)) + list(generate(30, seed=6, spaced=True))

NUMBERS = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1e400", "1e-400", "1e-9999", "0e99999", "-0", "-0.0", "1E5", "NaN", "Infinity"]),
    st.sampled_from(["18446744073709551616.0", "9223372036854775807.0", "9" * 308, "9" * 309, "9" * 5000]),
    st.sampled_from(["0." + "0" * 400 + "1", "0." + "3" * 20_000, "1" * 600 + "e-300"]),
)
TEXTS = st.one_of(
    st.text(max_size=6).map(json.dumps),
    st.sampled_from(
        ['"\\u0000"', '"\\ud800"', '"\\udc00\\ud800"', '"\\\\u0000"', '"\\u003a"', '":"', '"\\u0022"', '"\x7f"']
    ),
)
KEYS = st.one_of(st.sampled_from(['"a"', '"b"', '"\\u0061"', '"a:"', '"a\\u003a"', '"\\u0000"', '"\\ud800"']), TEXTS)
SPACE = st.sampled_from(["", "", " ", "\n\t"])
JSON_TEXT = st.recursive(
    NUMBERS | TEXTS | st.sampled_from(["null", "true", "false"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).flatmap(lambda items: SPACE.map(lambda gap: f"[{gap}{','.join(items)}]")),
        st.lists(st.tuples(KEYS, SPACE, inner), max_size=4).map(
            lambda pairs: "{" + ",".join(f"{key}{gap}:{value}" for key, gap, value in pairs) + "}"
        ),
    ),
    max_leaves=14,
)
"""JSON as text, because the bad things are in the spelling: equal keys, numbers of every kind, escapes."""

PLACES = st.one_of(
    st.sampled_from(["eventType", "eventTime", "run", "job", "dataset", "producer", "inputs", "outputs", "extra"]),
    st.sampled_from(["run.runId", "run.facets", "job.name", "job.namespace", "inputs.0", "inputs.0.name"]),
    st.sampled_from(["inputs.0.namespace", "inputs.0.facets", "outputs.0.outputFacets"]),
)


def event_text(place: str, value: str) -> bytes:
    """A whole event with the JSON text at the place."""
    dataset = {"namespace": "db", "name": "t", "facets": {}, "inputFacets": {}, "outputFacets": {}}
    tree = run_event(inputs=[dict(dataset)], outputs=[dict(dataset)])
    holder: Any = tree
    *steps, last = place.split(".")
    for step in steps:
        holder = holder[int(step)] if step.isdigit() else holder[step]
    holder[int(last) if last.isdigit() else last] = "@"
    return json.dumps(tree).replace('"@"', value).encode("utf-8", "surrogatepass")
