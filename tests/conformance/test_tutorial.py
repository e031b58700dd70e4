"""docs/tutorial.md, as a newcomer does it: every block pasted into one shell, one after the other, in an empty folder.

In a network namespace of its own, because it uses the port that everything has by default.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
TIMEOUT_S = 1200
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_LOOPBACK_UP = (
    "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14s', b'lo', 1, b''))"
)
_END_OF_BLOCK = "--- end of block ---"


def blocks() -> list[tuple[str, str]]:
    """What is pasted, and what the page says that it prints."""
    found: list[tuple[str, str]] = []
    for kind, text in _BLOCK.findall(PAGE.read_text()):
        if kind == "sh":
            found.append((text, ""))
        elif kind == "text":
            found[-1] = (found[-1][0], text)
    return found


def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    probe = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("no network namespace can be made here")
    script = "".join(f"{text}\necho '{_END_OF_BLOCK}'\n" for text, _ in blocks())
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        **home,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    folder = tmp_path / "empty"
    folder.mkdir()
    shell = f'"{sys.executable}" -c "{_LOOPBACK_UP}" && exec bash -e'
    # The namespace ends with its processes, and they with the shell: a node that is left would otherwise stay.
    command = ["unshare", "-rnpf", "--kill-child", "bash", "-c", shell]
    done = subprocess.run(
        command,
        input=script,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{(folder / 'node.log').read_text()}"
    printed = done.stdout.split(f"{_END_OF_BLOCK}\n")
    assert len(printed) == len(blocks()) + 1
    others = [
        f"{text}\nprints\n{found}"
        for (text, expected), found in zip(blocks(), printed, strict=False)
        if re.fullmatch(re.escape(expected.strip()).replace(r"\.\.\.", ".*"), found.strip(), re.DOTALL) is None
    ]
    assert others == [], done.stderr
