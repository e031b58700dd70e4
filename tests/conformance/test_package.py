"""`pip install` of what `make dist` builds, as a stranger does it: a fresh environment, no network, a node, a record there and back."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import servers

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 300
NOT_FOR_RUNNING = {"pytest", "mypy", "hypothesis", "ruff", "kafka-python", "confluent-kafka", "kubernetes", "kopf"}


def run(command: Sequence[str | Path], **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False, **more
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What others have made, at the lock's versions and hashes."""
    directory = tmp_path_factory.mktemp("wheels")
    lock = ROOT / "requirements-run.lock"
    pip = [ROOT / ".tools/bin/python", "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    run([*pip, "--require-hashes", "--only-binary", ":all:", "-r", lock, "-d", directory])
    return directory


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    print(run([sys.executable, ROOT / "package/build.py", "--out", directory]))
    return directory


@pytest.fixture(scope="module", params=["py3-none-any", "linux"])
def environment(
    request: pytest.FixtureRequest, dist: Path, wheels: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A fresh one, with one of the wheels in it."""
    built = list(dist.glob(f"millstream-*{request.param}*.whl"))
    if not built:
        pytest.skip("nothing is compiled here, so there is no wheel of this platform")
    fresh = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", fresh])
    began_s = time.monotonic()
    pip = [fresh / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, "--no-index", "--find-links", wheels, *built])
    installed = sum(path.stat().st_size for path in fresh.rglob("*") if path.is_file() and not path.is_symlink())
    print(
        f"{built[0].name}: installed in {time.monotonic() - began_s:.1f} s, the environment has {installed / 1e6:.0f} MB"
    )
    yield fresh
    shutil.rmtree(fresh)


def test_a_fresh_environment_has_a_node_and_the_library_and_no_test_tools(environment: Path, tmp_path: Path) -> None:
    millstream, python = environment / "bin/millstream", environment / "bin/python"
    listed = {line.partition("==")[0].lower() for line in run([python, "-m", "pip", "freeze"]).splitlines()}
    assert not listed & NOT_FOR_RUNNING
    assert any(name.startswith("millstream") for name in listed)
    began_s = time.monotonic()
    with servers.node(tmp_path, program=str(millstream)) as node:
        print(f"node ready in {time.monotonic() - began_s:.2f} s")
        place = ["--bootstrap", node.bootstrap]
        run([millstream, "produce", "greetings", *place], input="hello\n")
        assert run([millstream, "consume", "greetings", "--values", *place]) == "hello\n"
        reading = (
            "from millstream import streams\n"
            f"with streams('greetings', bootstrap='{node.bootstrap}') as (first,): print(next(first).value)\n"
        )
        assert run([python, "-c", reading], cwd=str(tmp_path)) == "b'hello'\n"
        built = (
            "plain"
            if "py3-none-any" in next(environment.glob("lib/*/site-packages/millstream-*/WHEEL")).read_text()
            else "compiled"
        )
        assert f"records={built}" in node.log_tail()


def test_what_needs_kubernetes_says_how_to_get_it(environment: Path, tmp_path: Path) -> None:
    command = [environment / "bin/millstream", "node", "--port", "0", "--data", tmp_path / "data"]
    done = subprocess.run(
        [*map(str, command), "--set", "controller.store=kubernetes:default/millstream"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "pip install 'millstream[kubernetes]'" in done.stderr
