"""Every call of the connector into Egeria is one that the version has: by its jars where there are any, else a list."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

from .classfile import ClassFile, read_jar

LIST = Path(__file__).with_name("signatures.toml")
OURS = "io/github/lineagelog/egeria/"
EGERIA = "org/odpi/"
NOT_OURS = {"4.3": f"{OURS}v6/", "6": f"{OURS}v4/"}
JARS = ("open-connector-framework-4.3.jar", "audit-log-framework-4.3.jar")
OF_ALL = frozenset(("addSuppressed(Ljava/lang/Throwable;)V", "ordinal()I", "name()Ljava/lang/String;"))
"""What each Throwable and each enum has."""


class Api:
    """What a version of Egeria has."""

    def __init__(self, jars: list[Path], listed: dict[str, Any]) -> None:
        self.classes: dict[str, ClassFile] = {}
        for jar in jars:
            self.classes |= read_jar(jar)
        self.listed = {_whole(name): entry for name, entry in listed.items()}

    def parents(self, name: str) -> list[str]:
        if name in self.listed:
            return [_whole(parent)] if (parent := self.listed[name].get("super")) else []
        return list(self.classes[name].parents) if name in self.classes else []

    def has(self, name: str, member: str) -> bool:
        """Whether the class or what is above it has this member; a constructor is the class's own."""
        own = {_whole(each) for each in self.listed[name]["members"]} if name in self.listed else set()
        if name not in self.listed and name in self.classes:
            own = set(self.classes[name].members)
        if member in own:
            return True
        return not member.startswith("<init>") and any(self.has(parent, member) for parent in self.parents(name))

    def knows(self, name: str) -> bool:
        return name in self.listed or name in self.classes


def _whole(text: str) -> str:
    return text.replace("o.o/", "org/odpi/openmetadata/")


@pytest.fixture(scope="module")
def ours(platforms: Path) -> dict[str, ClassFile]:
    """The classes of the connector's jar, which the fixture has built."""
    return read_jar(ROOT / "connector" / "lineagelog" / "egeria" / "jars" / "lineagelog-egeria-connector.jar")


@pytest.fixture(scope="module", params=["4.3", "6"])
def version(request: pytest.FixtureRequest, platforms: Path) -> tuple[str, Api]:
    """A version of Egeria; the jars of 4.3 are those that Maven has resolved for the stand-in."""
    name = str(request.param)
    jars = [platforms / "4.3" / "lib" / jar for jar in JARS] if name == "4.3" else []
    if missing := [jar.name for jar in jars if not jar.exists()]:
        pytest.skip(f"Maven has not resolved {', '.join(missing)}")
    return name, Api(jars, tomllib.loads(LIST.read_text())[name])


def _uses(ours: dict[str, ClassFile], version: str) -> set[tuple[str, str]]:
    """The members of Egeria's classes that the connector for a version names, those that it inherits included."""
    found = set()
    for each in ours.values():
        if each.name.startswith(NOT_OURS[version]):
            continue
        for owner, member in each.uses:
            while owner in ours and member not in ours[owner].members:
                owner = ours[owner].parents[0]
            if owner.startswith(EGERIA):
                found.add((owner, member))
    return found


def test_each_call_is_there(ours: dict[str, ClassFile], version: tuple[str, Api]) -> None:
    """Each method, constructor and field, with the very types that the byte code names."""
    name, api = version
    uses = _uses(ours, name)
    assert len(uses) > 30
    assert [use for use in sorted(uses) if use[1] not in OF_ALL and not api.has(*use)] == []


def test_each_class_that_is_extended_is_there(ours: dict[str, ClassFile], version: tuple[str, Api]) -> None:
    """Superclasses and interfaces of ours."""
    name, api = version
    parents = {p for each in ours.values() if not each.name.startswith(NOT_OURS[name]) for p in each.parents}
    assert [each for each in sorted(parents) if each.startswith(EGERIA) and not api.knows(each)] == []


def test_we_have_what_the_daemon_calls(ours: dict[str, ClassFile], version: tuple[str, Api]) -> None:
    """Methods that the version calls on its connectors and their definitions are ours, not a default of its own."""
    name, api = version
    package = {"4.3": "v4", "6": "v6"}[name]
    for declared, entry in api.listed.items():
        wanted = {_whole(each) for each in entry.get("daemon_calls", ())}
        mine = [
            each
            for each in ours.values()
            if each.name.startswith((f"{OURS}{package}/", f"{OURS}connector/")) and _is_a(each, declared, ours, api)
        ]
        assert not wanted or mine, declared
        assert [(each.name, member) for each in mine for member in wanted - each.members] == []


def _is_a(one: ClassFile, declared: str, ours: dict[str, ClassFile], api: Api) -> bool:
    """By superclass; the interface of connectors is that of their base class."""
    above = list(one.parents)
    while above:
        name = above.pop()
        if name == declared or (
            name.endswith("IntegrationConnectorBase") and declared.endswith("IntegrationConnector")
        ):
            return True
        above += ours[name].parents if name in ours else api.parents(name)
    return False


def test_the_constructor_with_a_cause_is_one_of_a_version_only(version: tuple[str, Api]) -> None:
    """Why the connector does not call it: a Throwable in Egeria 4.3, an Exception later."""
    name, api = version
    three = "(Lo.o/frameworks/auditlog/messagesets/ExceptionMessageDefinition;Ljava/lang/String;Ljava/lang/String;"
    exception = _whole("o.o/frameworks/connectors/ffdc/ConnectorCheckedException")
    has = {cause: api.has(exception, _whole(f"<init>{three}L{cause};)V")) for cause in _CAUSES}
    assert has == {cause: version_of == name for cause, version_of in _CAUSES.items()}
    assert api.has(exception, _whole(f"<init>{three})V"))


_CAUSES = {"java/lang/Throwable": "4.3", "java/lang/Exception": "6"}


def test_the_stand_in_has_no_call_that_egeria_has_not(platforms: Path) -> None:
    """The shapes of classes that connectors call declare what is in the list and no more."""
    (jar,) = (platforms / "6.0" / "lib").glob("lineagelog-egeria-shape-6.0*.jar")
    shapes = read_jar(jar)
    listed = Api([], tomllib.loads(LIST.read_text())["6"]).listed
    called = ("ConnectorCheckedException", "OpenConnectorDefinition", "IntegrationConnector")
    for name in (each for each in listed if each.rpartition("/")[2] in called):
        members = {_whole(each) for each in listed[name]["members"]}
        shape = {each for each in shapes[name].members if each.startswith("<init>") or "Exception" not in name}
        own = {"setConnectorName(Ljava/lang/String;)V", *(each for each in shape if each.startswith("setContext("))}
        assert shape - own <= members, name


def test_the_version_is_the_packages(ours: dict[str, ClassFile]) -> None:
    """What the connector tells Egeria as its version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    source = next((ROOT / "jars").rglob("ConnectorDescription.java")).read_text()
    assert f'VERSION = "{project}"' in source
