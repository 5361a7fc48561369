"""Pipeline files (`.slp`, API answers, project `export.json`): Snaps, links, parameters, open views.

Dialects of the same JSON: the Designer export (`class_fqid`, `snode_id`), the Git artifact (`class_id`,
placeholder Snap ids, no `snode_id`), the API's asset answer (more keys), and a project export (`{"entries":
[...]}`, pipelines among other assets).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from .document import ExportNote, Node, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

CLASS_PREFIX = "com-snaplogic-snaps-"


class Dialect(StrEnum):
    """Which of the two id schemes a pipeline file uses."""

    EXPORT = "export"
    ARTIFACT = "artifact"


@dataclass(frozen=True, slots=True)
class View:
    """A view of a Snap: its id, its label (what Router and Join rows name) and whether it carries binary
    data."""

    id: str
    label: str
    binary: bool = False


@dataclass(frozen=True, slots=True)
class Snap:
    """A Snap as configured; `settings` and `account` are its nodes in the file, read by the class rules."""

    id: str
    class_id: str
    label: str
    inputs: tuple[View, ...]
    outputs: tuple[View, ...]
    errors: tuple[View, ...]
    settings: Node
    account: Node
    disabled: bool

    @property
    def kind(self) -> str:
        """The class without SnapLogic's prefix, such as `postgres-select`."""
        return self.class_id.removeprefix(CLASS_PREFIX)


@dataclass(frozen=True, slots=True)
class SnapLink:
    """A link: documents flow from a view (output or error) of one Snap to an input view of another."""

    name: str
    src: str
    src_view: str
    dst: str
    dst_view: str


@dataclass(frozen=True, slots=True)
class OpenView:
    """A view of a Snap that a parent pipeline feeds or reads."""

    snap: str
    view: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline of a file; `name` is "" when the file does not tell (then the run does)."""

    file: str
    place: str
    name: str
    snode_id: str
    instance_id: str
    path: str
    dialect: Dialect
    parameters: Mapping[str, str]
    snaps: Mapping[str, Snap]
    links: tuple[SnapLink, ...]
    open_inputs: tuple[OpenView, ...]
    open_outputs: tuple[OpenView, ...]

    @property
    def file_name(self) -> str:
        """The file's name without folder and ending: the last resort for a name."""
        return PurePosixPath(self.file).stem


def read_pipelines(data: bytes, file: str) -> tuple[list[Pipeline], list[ExportNote]]:
    """The pipelines of one file and what is odd about them; InputError when the file holds none or is
    damaged."""
    document = read_json(data, file)
    found = _pipeline_nodes(document)
    if not found:
        hint = (
            "this looks like run information: give it with --run" if _is_run(document) else "export the pipeline again"
        )
        raise document.error(f"no snap_map, so this is no SnapLogic pipeline; {hint}")
    findings: list[ExportNote] = []
    return [_pipeline(node, findings) for node in found], findings


def _pipeline_nodes(document: Node) -> list[Node]:
    if isinstance(document.value, list):
        return [node for node in document.rows() if node.has("snap_map")]
    if document.has("entries"):
        entries = document.get("entries").rows()
        inner = [node.get("asset") if node.has("asset") else node for node in entries]
        return [node for node in inner if node.has("snap_map")]
    if document.has("response_map"):
        return _pipeline_nodes(document.get("response_map"))
    is_pipeline = document.has("snap_map") and not _is_run(document)
    return [document] if is_pipeline else []


def _is_run(document: Node) -> bool:
    inner = document.get("response_map") if document.has("response_map") else document
    return inner.has("ruuid") or inner.has("cc_start_ms")


def _pipeline(node: Node, findings: list[ExportNote]) -> Pipeline:
    properties = node.get("property_map")
    snaps = {key: _snap(key, snap) for key, snap in node.get("snap_map").items()}
    exported = node.has("class_fqid") or node.has("snode_id")
    name = properties.at("info", "label").unwrap().text() or node.get("name").unwrap().text()
    return Pipeline(
        file=node.file,
        place=node.place,
        name=name,
        snode_id=node.get("snode_id").text(),
        instance_id=node.get("instance_id").text(),
        path=node.get("path_id").text(),
        dialect=Dialect.EXPORT if exported else Dialect.ARTIFACT,
        parameters=_parameters(properties.at("settings", "param_table")),
        snaps=snaps,
        links=_links(node, snaps, findings),
        open_inputs=_open_views(properties.get("input"), snaps),
        open_outputs=_open_views(properties.get("output"), snaps),
    )


def _parameters(table: Node) -> dict[str, str]:
    rows = [(row.get("key").unwrap().text(), row.get("value").unwrap()) for row in table.table()]
    return {key: value.text() for key, value in rows if key and not isinstance(value.value, (dict, list))}


def _snap(key: str, node: Node) -> Snap:
    properties = node.get("property_map")
    settings = properties.get("settings")
    class_id = node.get("class_id").text() or re.sub(r"_\d+(-[^_]*)?$", "", node.get("class_fqid").text())
    label = properties.at("info", "label").unwrap().text()
    return Snap(
        id=key,
        class_id=class_id,
        label=label,
        inputs=_views(properties.get("input")),
        outputs=_views(properties.get("output")),
        errors=_views(properties.get("error")),
        settings=settings,
        account=properties.at("account", "account_ref"),
        disabled=settings.get("execution_mode").unwrap().text().lower() == "disabled",
    )


def _views(node: Node) -> tuple[View, ...]:
    """The views of one side; `error_behavior` stands among the error views and is none."""
    return tuple(
        View(key, view.get("label").unwrap().text() or key, view.get("view_type").unwrap().text() == "binary")
        for key, view in node.items()
        if key != "error_behavior"
    )


def _links(node: Node, snaps: Mapping[str, Snap], findings: list[ExportNote]) -> tuple[SnapLink, ...]:
    if not node.has("link_map"):
        raise node.error("no link_map, so nothing tells how the Snaps are connected; export the pipeline again")
    links = node.get("link_map")
    if links.empty and len(snaps) > 1:
        hint = "export the pipeline again if it has links"
        message = f"no links between {len(snaps)} Snaps, so each is exported alone; {hint}"
        findings.append(ExportNote(node.file, links.place, message))
    return tuple(link for name, entry in links.items() if (link := _link(name, entry, snaps, findings)))


def _link(name: str, node: Node, snaps: Mapping[str, Snap], findings: list[ExportNote]) -> SnapLink | None:
    keys = ("src_id", "src_view_id", "dst_id", "dst_view_id")
    link = SnapLink(name, *(node.get(key).text() for key in keys))
    lost = [f"{key} {snap!r}" for key, snap in (("src_id", link.src), ("dst_id", link.dst)) if snap not in snaps]
    if lost:
        message = f"dangling link {name}: no Snap with {' and '.join(lost)}; left out, the rest is exported"
        findings.append(ExportNote(node.file, node.place, message))
        return None
    source, target = snaps[link.src], snaps[link.dst]
    known = {view.id for view in (*source.outputs, *source.errors)}, {view.id for view in target.inputs}
    if link.src_view not in known[0] or link.dst_view not in known[1]:
        views = f"{link.src_view} to {link.dst_view}"
        message = f"link {name} names a view that its Snap does not have ({views}); followed anyway"
        findings.append(ExportNote(node.file, node.place, message))
    return link


def _open_views(node: Node, snaps: Mapping[str, Snap]) -> tuple[OpenView, ...]:
    """Keys are `<snap id>_<view id>`; neither part is split by guessing: the Snap is looked up."""
    split = [key.partition("_") for key, _ in node.items()]
    return tuple(OpenView(snap, view) for snap, _, view in split if snap in snaps)
