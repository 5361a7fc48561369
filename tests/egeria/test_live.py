"""Against a live Egeria: what docs/egeria.md sets up, from the daemon's REST call to the store."""

from __future__ import annotations

import json
import os
import ssl
import urllib.request
import uuid

import pytest

from tests.support import PATIENCE, Ran, event, run_process, wait_until

URL = "LINEAGELOG_EGERIA_URL"
"""The daemon's call that publishes an event, such as
``https://localhost:9443/servers/integration-daemon/open-metadata/integration-daemon/publish-open-lineage-event``."""
TOKEN = "LINEAGELOG_EGERIA_TOKEN"
"""A bearer token for it, where it wants one."""
DATABASE = "LINEAGELOG_EGERIA_DATABASE"
"""The database that lineagelog stores the daemon's events in."""
_SECONDS = 60


@pytest.mark.skipif(
    not (os.environ.get(URL) and os.environ.get(DATABASE)), reason=f"needs a live Egeria: {URL} and {DATABASE}"
)
def test_event_published_in_a_live_daemon_is_stored() -> None:
    """An event that the daemon takes is in the store, by whichever way was set up."""
    run = str(uuid.uuid4())
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get(TOKEN):
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(os.environ[URL], json.dumps(event(run)).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE, context=ssl._create_unverified_context()) as answer:
        assert answer.status == 200
    shown: list[Ran] = []

    def is_there() -> bool:
        shown.append(run_process("show", run, "--database", os.environ[DATABASE]))
        return not shown[-1].code

    wait_until(is_there, lambda: shown[-1])
    assert run in shown[-1].out
