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
from console_page import ConsolePage, console_of

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
    """What others have made."""
    return downloaded(sys.executable, tmp_path_factory.mktemp("wheels"))


def downloaded(python: str, directory: Path) -> Path:
    """At the lock's versions and hashes, for this Python."""
    own = directory / "downloading"
    run([python, "-m", "venv", own])
    pip = [own / "bin/python", "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    lock = ROOT / "requirements-run.lock"
    run([*pip, "--require-hashes", "--only-binary", ":all:", "-r", lock, "-d", directory])
    shutil.rmtree(own)
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
    install(sys.executable, built[0], wheels, fresh)
    yield fresh
    shutil.rmtree(fresh)


def install(python: str, wheel: Path, wheels: Path, fresh: Path) -> None:
    """Into a new environment, without a network."""
    run([python, "-m", "venv", fresh])
    began_s = time.monotonic()
    pip = [fresh / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, "--no-index", "--find-links", wheels, wheel])
    took_s = time.monotonic() - began_s
    size = sum(path.stat().st_size for path in fresh.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"{wheel.name}: installed in {took_s:.1f} s, the environment has {size / 1e6:.0f} MB")


def newer_python() -> str | None:
    """3.12 or newer, of the system's or of pyenv's."""
    there = [*Path("/usr/bin").glob("python3.??"), *Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    for each in (sys.executable, *map(str, sorted(there, reverse=True))):
        asked = [each, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"]
        if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            return each
    return None


def test_the_pure_wheel_runs_on_another_python(dist: Path, tmp_path: Path) -> None:
    """With brokers for tests, whose loop is the one part of it that asks more of asyncio than anybody should."""
    python = newer_python()
    if python is None:
        pytest.skip("there is no Python 3.12 or newer here")
    (wheel,) = dist.glob("millstream-*-py3-none-any.whl")
    install(python, wheel, downloaded(python, tmp_path / "wheels"), tmp_path / "environment")
    code = (
        "from millstream.testing import cluster\n"
        "with cluster() as millstream:\n"
        "    millstream.create_topic('orders', configs={'retention.ms': '3600000'})\n"
        "    millstream.produce('orders', 'old')\n"
        "    millstream.advance(days=1)\n"
        "    millstream.produce('orders', 'new')\n"
        "    print(millstream.values('orders'))\n"
    )
    assert run([tmp_path / "environment/bin/python", "-c", code]) == "[b'new']\n"


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
        page = ConsolePage(console_of(node.ready_line))
        assert [each["topic"] for each in page.get("topics")["rows"]] == ["greetings"]
        assert page.ask("/pages/messages.js").status == 200
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
