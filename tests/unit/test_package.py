"""What is published is one package: it has every part that a node needs, asks for what these ask for, and one place says its version."""

import re
import tomllib
from pathlib import Path
from typing import Any

from millstream_runtime import VERSION

ROOT = Path(__file__).parents[2]
PACKAGE: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def members() -> list[Path]:
    """Of the workspace, those that the package is made of."""
    return sorted(
        [*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml"), ROOT / "cli/pyproject.toml"]
    )


def test_it_has_every_library_every_service_and_the_command_line() -> None:
    listed = PACKAGE["tool"]["setuptools"]["packages"]["find"]["where"]
    assert sorted(listed) == sorted(f"{member.parent.relative_to(ROOT)}/src" for member in members())


def test_it_asks_for_what_its_parts_ask_for() -> None:
    asked = {name for member in members() for name in tomllib.loads(member.read_text())["project"]["dependencies"]}
    project = PACKAGE["project"]
    given = {*project["dependencies"], *project["optional-dependencies"]["kubernetes"]}
    assert {name for name in asked if not name.startswith("millstream-")} == given


def test_whoever_names_the_release_names_this_one() -> None:
    named = {
        "charts/millstream/Chart.yaml": r'^appVersion: "(.*)"$',
        "charts/millstream/values.yaml": r'^  tag: "(.*)"$',
        "spark-on-k8s/pyproject.toml": r'^version = "(.*)"$',
        "spark-on-k8s/manifests/archive.yaml": r"millstream-spark:(\S+)",
        "spark-on-k8s/manifests/audit.yaml": r"millstream-spark:(\S+)",
    }
    for name, pattern in named.items():
        found = re.findall(pattern, (ROOT / name).read_text(), re.MULTILINE)
        assert found, name
        assert set(found) == {VERSION}, name
    chart = re.findall(r"^version: (.*)$", (ROOT / "charts/millstream/Chart.yaml").read_text(), re.MULTILINE)
    assert chart == [VERSION.replace(".dev", "-dev.")]  # Helm's way to say it
