"""Writes what is shipped as a CycloneDX document: every locked package and jar with its version, hashes, licence and who needs it.

The locks are what the images are built from, with these hashes enforced, so they are the source; nothing is asked of an index.
Licences are what the installed packages say of themselves, and `licences` where they say nothing that SPDX knows. The same
locks give the same bytes. What is not of the locks, the base image with its Python and Java, is whoever builds the images' to add.
"""

import argparse
import importlib.metadata
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream_runtime import VERSION

ROOT = Path(__file__).parent.parent
LOCK = "requirements.lock"
SPARK_LOCK = "spark-on-k8s/requirements.lock"
JARS = "spark-on-k8s/jars.lock"
SERVERS, SPARK = "millstream", "millstream-spark"

_PINNED = re.compile(r"([a-z0-9][a-z0-9._-]*)==(\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class UnknownLicence(Exception):
    """Somebody has to look, and write it into `licences`."""


@dataclass(frozen=True, slots=True)
class Package:
    purl: str
    name: str
    group: str
    version: str
    hashes: tuple[str, ...]
    """SHA-256 of each file that may be installed."""


def locked(lock: Path) -> Iterator[Package]:
    for entry in re.split(r"\n(?=\S)", lock.read_text()):
        if pinned := _PINNED.match(entry):
            name, version = pinned.groups()
            yield Package(f"pkg:pypi/{name}@{version}", name, "", version, tuple(_HASH.findall(entry)))


def jars(lock: Path) -> Iterator[Package]:
    for line in lock.read_text().splitlines():
        if line and not line.startswith("#"):
            digest, coordinates = line.split()
            group, name, version = coordinates.split(":")
            yield Package(f"pkg:maven/{group}/{name}@{version}", name, group, version, (digest,))


def document() -> dict[str, Any]:
    servers, spark = list(locked(ROOT / LOCK)), [*locked(ROOT / SPARK_LOCK), *jars(ROOT / JARS)]
    needs = {SERVERS: _first_needed(servers), SPARK: sorted(each.purl for each in spark)}
    for package in servers:
        needs[package.purl] = _needed(_required(package.name), servers)
    packages = {each.purl: each for each in (*servers, *spark)}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": SERVERS,
                "name": SERVERS,
                "version": VERSION,
            }
        },
        "components": [
            {"type": "application", "bom-ref": SPARK, "name": SPARK, "version": VERSION},
            *(_component(packages[purl]) for purl in sorted(packages)),
        ],
        "dependencies": [{"ref": ref, "dependsOn": needs.get(ref, [])} for ref in (SERVERS, SPARK, *sorted(packages))],
    }


def _component(package: Package) -> dict[str, Any]:
    component: dict[str, Any] = {"type": "library", "bom-ref": package.purl, "name": package.name}
    if package.group:
        component["group"] = package.group
    component |= {"version": package.version, "purl": package.purl, "licenses": [{"expression": licence_of(package)}]}
    hashes = [{"alg": "SHA-256", "content": each} for each in package.hashes]
    if len(hashes) == 1:
        component["hashes"] = hashes
    else:  # one of several files is installed, each for another kind of machine
        component["externalReferences"] = [{"type": "distribution", "url": package.purl, "hashes": hashes}]
    return component


def licence_of(package: Package) -> str:
    """As an SPDX expression. Raises UnknownLicence."""
    name = f"{package.group}:{package.name}" if package.group else package.name
    written = _written()
    if name in written:
        return written[name]
    try:
        metadata = importlib.metadata.metadata(package.name)
    except importlib.metadata.PackageNotFoundError:
        raise UnknownLicence(f"{name} is not installed here: write its licence into sbom/licences") from None
    said = metadata.get("License-Expression") or metadata.get("License") or ""
    if not re.fullmatch(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*", said):
        raise UnknownLicence(f"{name} says of its licence {said!r}: write it into sbom/licences as SPDX has it")
    return said


def _written() -> dict[str, str]:
    lines = (Path(__file__).parent / "licences").read_text().splitlines()
    pairs = (line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    return dict(pairs)


def _first_needed(packages: Iterable[Package]) -> list[str]:
    """What our own packages name."""
    named: set[str] = set()
    for project in (
        ROOT.glob("*/pyproject.toml"),
        ROOT.glob("libs/*/pyproject.toml"),
        ROOT.glob("services/*/pyproject.toml"),
    ):
        for path in project:
            if path.parent.name not in ("spark-on-k8s", "simulation"):
                named.update(tomllib.loads(path.read_text())["project"].get("dependencies", ()))
    return _needed(named, packages)


def _required(name: str) -> Iterable[str]:
    try:
        required = importlib.metadata.requires(name) or ()
    except importlib.metadata.PackageNotFoundError:  # of another system than this one
        return ()
    return (each for each in required if "extra ==" not in each)


def _needed(requirements: Iterable[str], packages: Iterable[Package]) -> list[str]:
    names = {
        match[0].lower().replace("_", "-").replace(".", "-") for each in requirements if (match := _NAME.match(each))
    }
    return sorted(package.purl for package in packages if package.name in names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "sbom.cdx.json")
    path: Path = parser.parse_args().output
    try:
        written = json.dumps(document(), indent=1) + "\n"
    except UnknownLicence as error:
        print(f"sbom: {error}", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
