"""A network of the run's own: a namespace with a link to one bridge for each node, and links that stop carrying frames.

A cut is made with the sender's neighbour table: what goes to a cut peer is sent to a hardware address that nobody has, so it
is lost without a word, in that direction alone. No firewall or traffic shaper is needed. Everything is made in the private
namespaces of the run (`isolation.py`) and ends with its processes, whatever ends them.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

BRIDGE = "chaos0"
_NOWHERE = "02:c4:a0:5f:ff:ff"
_SUBNET = "10.213.77"
_NAMES = Path("/run/netns")
"""Where `ip netns` keeps the names; a directory of the run's own is mounted there."""
CLIENTS = "clients"


class Network:
    """Node `names[i]` gets address i + 1; the clients are where the harness itself runs, at the bridge."""

    def __init__(self, names: Sequence[str]) -> None:
        self._numbers = {name: number for number, name in enumerate([*names, CLIENTS], 1)}
        self._cut: set[tuple[str, str]] = set()

    def address(self, name: str) -> str:
        return f"{_SUBNET}.{self._numbers[name]}"

    def command(self, name: str) -> list[str]:
        """What a node's command begins with, so that it runs in its namespace."""
        return ["nsenter", f"--net={_NAMES / name}"]

    def make(self) -> None:
        _NAMES.mkdir(parents=True, exist_ok=True)
        _run("mount", "-t", "tmpfs", "none", str(_NAMES))
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", BRIDGE, "address", self._hardware(CLIENTS), "type", "bridge")
        _run("ip", "address", "add", f"{self.address(CLIENTS)}/24", "dev", BRIDGE)
        _run("ip", "link", "set", BRIDGE, "up")
        for name, number in self._numbers.items():
            if name != CLIENTS:
                self._join(name, f"chaos{number}")

    def _join(self, name: str, port: str) -> None:
        _run("ip", "netns", "add", name)
        _run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        _run("ip", "link", "set", port, "master", BRIDGE, "up")
        _run("ip", "-n", name, "link", "set", "lo", "up")
        _run("ip", "-n", name, "link", "set", "eth0", "address", self._hardware(name), "up")
        _run("ip", "-n", name, "address", "add", f"{self.address(name)}/24", "dev", "eth0")

    def cut(self, sender: str, receiver: str) -> None:
        self._neighbour(sender, receiver, _NOWHERE)
        self._cut.add((sender, receiver))

    def heal(self) -> None:
        """Every link carries frames both ways again."""
        for sender, receiver in sorted(self._cut):
            self._neighbour(sender, receiver, self._hardware(receiver))
        self._cut.clear()

    def _neighbour(self, sender: str, receiver: str, hardware: str) -> None:
        where = ["dev", BRIDGE] if sender == CLIENTS else ["dev", "eth0"]
        inside = [] if sender == CLIENTS else ["-n", sender]
        # Permanent, also when healed: the table must not learn by itself what a cut has to keep from it.
        to = ["neighbour", "replace", self.address(receiver), "lladdr", hardware, *where, "nud", "permanent"]
        _run("ip", *inside, *to)

    def _hardware(self, name: str) -> str:
        return f"02:c4:a0:5f:00:{self._numbers[name]:02x}"

    def remove(self) -> None:
        for name in self._numbers:
            if name != CLIENTS:
                _run("ip", "netns", "delete", name)
        _run("ip", "link", "delete", BRIDGE)
        _run("umount", str(_NAMES))


class Loopback:
    """Where no namespaces can be made: every node has an address of loopback's, and links cannot be cut."""

    def __init__(self, names: Sequence[str], run_number: int) -> None:
        """`run_number`: runs beside each other on one machine have different ones."""
        self._prefix = f"127.{100 + run_number % 100}.{run_number // 100 % 250}"
        self._numbers = {name: number for number, name in enumerate(names, 1)}

    def address(self, name: str) -> str:
        return f"{self._prefix}.{self._numbers[name]}"

    def command(self, name: str) -> list[str]:
        return []

    def make(self) -> None:
        """Loopback is there."""

    def heal(self) -> None:
        """Nothing was cut."""

    def remove(self) -> None:
        """Nothing was made."""

    def cut(self, sender: str, receiver: str) -> None:
        raise AssertionError(f"loopback has no link from {sender} to {receiver}")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
