"""examples/: each program as it stands, against a node that runs, and the service's own tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import servers
import yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
TIMEOUT_S = 900
PRINTS = {
    "confluent_orders.py": "alice 7\nbob 1\ncarol 3\n",
    "aiokafka_billing.py": "alice 6\nbob 3\nalice 15\n",
    "streams_words.py": "the 4\nmill 2\nstream 2\n",
}


def run(command: list[str], directory: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        command,
        cwd=directory,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PRINTS)
def test_an_example_does_what_it_says(program: str, node: servers.ServerProcess, topic: str) -> None:
    variables = {"KAFKA": node.bootstrap, "TOPIC": topic}
    assert run([sys.executable, program], EXAMPLES, **variables) == PRINTS[program]


def test_every_program_among_the_examples_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == PRINTS.keys()


def test_the_service_passes_its_own_tests() -> None:
    pytest.importorskip("fastapi")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    assert "4 passed" in run(command, EXAMPLES / "fastapi_shop")


def test_the_composed_nodes_arguments_are_those_of_a_node_that_starts(tmp_path: Path) -> None:
    """Without containers: its own arguments, with ports that are free here instead of its own."""
    composed = yaml.safe_load((EXAMPLES / "compose" / "compose.yaml").read_text())["services"]["millstream"]["command"]
    arguments = composed[1:]
    first = servers.free_port()
    settings = []
    for each in arguments:
        if each.startswith("--set="):
            settings.append(
                each.removeprefix("--set=").replace("19092", str(first + 1_000)).replace("9092", str(first))
            )
    assert "--host=0.0.0.0" in arguments
    with servers.node(tmp_path, *settings, port=first):
        command = [servers.MILLSTREAM, "topic", "list", "--bootstrap", f"127.0.0.1:{first}", "--json"]
        assert run(command, tmp_path) == "[]\n"
