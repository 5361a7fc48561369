"""What the SDK takes from the section ``lineagelog`` of openlineage.yml and from environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import yaml

from .guard import guarded, warn_once

_PREFIX: Final = "OPENLINEAGE__LINEAGELOG__"
_YEAR: Final = 366 * 86400
"""The longest wait, in seconds."""


@dataclass(frozen=True)
class SdkConfig:
    """Settings of the SDK; everything else (transport, filters, tags, …) is the OpenLineage client's."""

    namespace: str = "default"
    """Namespace of the jobs."""
    dataset_namespace: str = ""
    """Namespace of datasets that name none; the jobs' if empty."""
    wait: float = 0.0
    """Seconds that the end of an outermost run waits for its events to be delivered."""
    exit_timeout: float = 10.0
    """Seconds without a delivery after which the end of the process gives up; the client's own retries take 9."""
    lookup_timeout: float = 5.0
    """Seconds that the look-ups of schemas at the end of a run may take."""


def load_config(**overrides: Any) -> SdkConfig:
    """The settings: arguments before openlineage.yml before the environment, as the OpenLineage client has it.

    The file is the one the client reads: ``OPENLINEAGE_CONFIG``, else ``openlineage.yml`` in the working directory,
    else in ``~/.openlineage``. Variables are ``OPENLINEAGE__LINEAGELOG__NAMESPACE`` and so on;
    ``OPENLINEAGE_NAMESPACE`` counts for ``namespace`` where nothing else says it. Never raises: a value that cannot be
    used is logged and left out.
    """
    found: dict[str, Any] = {}
    if namespace := os.environ.get("OPENLINEAGE_NAMESPACE", "").strip():
        found["namespace"] = namespace
    found |= {key.removeprefix(_PREFIX).lower(): value for key, value in os.environ.items() if key.startswith(_PREFIX)}
    found |= _file_section() or {}
    found |= {key: value for key, value in overrides.items() if value is not None}
    config = SdkConfig()
    known = {field.name: type(getattr(config, field.name)) for field in fields(config)}
    for key, value in found.items():
        if key not in known:
            warn_once(f"lineage: there is no setting lineagelog.{key}")
            continue
        try:
            config = replace(config, **{key: _read(known[key], value)})
        except (TypeError, ValueError):
            warn_once(f"lineage: the setting lineagelog.{key} must be a {known[key].__name__}")
    return config


def _read(kind: type, value: Any) -> Any:
    read = kind(value)
    if kind is float and not 0 <= read <= _YEAR:  # also for nan
        raise ValueError
    return read


@guarded("reading openlineage.yml", None)
def _file_section() -> dict[str, Any] | None:
    places = [
        Path(os.environ.get("OPENLINEAGE_CONFIG") or os.devnull),
        Path("openlineage.yml"),
        Path.home() / ".openlineage" / "openlineage.yml",
    ]
    path = next((place for place in places if place.is_file()), None)
    content = yaml.safe_load(path.read_text(encoding="utf-8")) if path else None
    section = content.get("lineagelog") if isinstance(content, dict) else None
    return section if isinstance(section, dict) else None
