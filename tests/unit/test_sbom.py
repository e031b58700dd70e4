"""What is shipped, as a document: all that the locks name, with hashes and licences that somebody has looked at."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).parents[2]
REVIEWED = {
    "Apache-2.0",
    "Apache-2.0 AND MIT",
    "Apache-2.0 OR BSD-3-Clause",
    "Apache-2.0 OR MIT",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
    "ISC",
    "LGPL-2.1-or-later",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "PSF-2.0",
}
"""Licences whose terms are met by shipping the packages as they are, beside ours."""


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom_write", ROOT / "sbom" / "write.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def document(sbom: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = sbom.document()
    return found


def libraries(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in document["components"] if each["type"] == "library"]


def test_it_is_what_the_standard_says(document: dict[str, Any]) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(document)) is None
    broken = {**document, "components": [{"type": "no such type", "name": "x"}], "dependencies": []}
    assert validator.validate_str(json.dumps(broken)) is not None


def test_every_pin_of_the_locks_is_in_it_with_all_its_hashes(document: dict[str, Any]) -> None:
    """Counted in the locks by another rule than the script reads them by."""
    pinned, hashes = set(), set()
    for lock in ("requirements.lock", "spark-on-k8s/requirements.lock"):
        text = (ROOT / lock).read_text()
        pinned |= {line.split()[0] for line in text.splitlines() if "==" in line and not line.startswith((" ", "#"))}
        hashes |= set(re.findall(r"--hash=sha256:([0-9a-f]{64})", text))
    jars = re.findall(r"(?m)^([0-9a-f]{64})  \S+:(\S+):(\S+)$", (ROOT / "spark-on-k8s/jars.lock").read_text())
    assert len(jars) >= 4
    pinned |= {f"{name}=={version}" for _, name, version in jars}
    hashes |= {digest for digest, _, _ in jars}
    assert {f"{each['name']}=={each['version']}" for each in libraries(document)} == pinned
    written = [
        *(digest for each in libraries(document) for digest in each.get("hashes", ())),
        *(
            digest
            for each in libraries(document)
            for place in each.get("externalReferences", ())
            for digest in place["hashes"]
        ),
    ]
    assert {each["content"] for each in written} == hashes


def test_each_package_has_a_licence_that_was_looked_at(document: dict[str, Any]) -> None:
    licences = {each["name"]: each["licenses"][0]["expression"] for each in libraries(document)}
    assert {name: licence for name, licence in licences.items() if licence not in REVIEWED} == {}


def test_a_package_whose_licence_nobody_knows_is_refused(sbom: ModuleType) -> None:
    package = sbom.Package("pkg:pypi/nobody-knows@1", "nobody-knows", "", "1", ("0" * 64,))
    with pytest.raises(sbom.UnknownLicence, match="sbom/licences"):
        sbom.licence_of(package)


def test_everything_is_there_because_something_needs_it(document: dict[str, Any]) -> None:
    needs = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    reached, waiting = set(), ["millstream", "millstream-spark"]
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += needs[ref]
    assert {each["bom-ref"] for each in libraries(document)} <= reached


def test_the_same_locks_give_the_same_bytes(sbom: ModuleType, document: dict[str, Any]) -> None:
    assert json.dumps(sbom.document()) == json.dumps(document)
