"""kubectl itself: it knows contexts, logs in, and carries connections to pods."""

import json
import queue
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from millstream.kubectl.target import Document, Door
from millstream_client.addresses import Address
from millstream_client.errors import InvalidData

TIMEOUT_S = 60
FORWARDS_MAX = 100
_FORWARDING = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) ->")


class Kubectl:
    def __init__(self, flags: Sequence[str]) -> None:
        """`flags`: of every command, such as the context."""
        self._command = ("kubectl", *flags)

    def items(self, kind: str, namespace: str | None, selector: str = "") -> list[Document]:
        """`namespace`: here as elsewhere, None is that of the context, or of the pod that this runs in."""
        chosen = ("-l", selector) if selector else ()
        found: list[Document] = self._json("get", kind, *_in(namespace), *chosen)["items"]
        return found

    def one(self, kind: str, name: str, namespace: str | None) -> Document:
        found: Document = self._json("get", kind, name, *_in(namespace))
        return found

    @contextmanager
    def forwarded(self, doors: Sequence[Door], namespace: str | None) -> Iterator[dict[Address, Address]]:
        """Where each of them is reached on this machine, by its advertised address, for as long as the block."""
        if len(doors) > FORWARDS_MAX:
            raise InvalidData(f"{len(doors)} pods are too many to forward to: run this inside of Kubernetes")
        with ExitStack() as open_ones:
            begun = [(door, open_ones.enter_context(self._forward(door, namespace))) for door in doors]
            yield {door.advertised: ("127.0.0.1", _port(said, door)) for door, said in begun}

    @contextmanager
    def _forward(self, door: Door, namespace: str | None) -> Iterator["queue.SimpleQueue[str]"]:
        """What it says first; what it says later is read, so that it does not wait, and forgotten."""
        words = ("port-forward", *_in(namespace), f"pod/{door.pod}", f":{door.advertised[1]}", "--address", "127.0.0.1")
        said: queue.SimpleQueue[str] = queue.SimpleQueue()
        process = subprocess.Popen(
            [*self._command, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        reader = threading.Thread(target=_read, args=(process, said), daemon=True)
        reader.start()
        try:
            yield said
        finally:
            process.kill()
            process.wait()
            reader.join()
            if process.stdout is not None:
                process.stdout.close()

    def _json(self, *words: str) -> Any:
        return json.loads(self._run(*words, "-o", "json"))

    def _run(self, *words: str) -> str:
        try:
            done = subprocess.run(
                [*self._command, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except FileNotFoundError:
            raise InvalidData("kubectl is not on the PATH") from None
        except subprocess.TimeoutExpired:
            raise InvalidData(f"kubectl {words[0]} did not answer within {TIMEOUT_S} s") from None
        if done.returncode != 0:
            raise InvalidData(f"kubectl {' '.join(words[:2])}: {' '.join(done.stderr.split())}")
        return done.stdout


def _in(namespace: str | None) -> tuple[str, ...]:
    return ("-n", namespace) if namespace is not None else ()


def _read(process: "subprocess.Popen[str]", said: "queue.SimpleQueue[str]") -> None:
    if process.stdout is not None:
        said.put(process.stdout.readline())
        for _ in process.stdout:
            pass


def _port(said: "queue.SimpleQueue[str]", door: Door) -> int:
    try:
        line = said.get(timeout=TIMEOUT_S)
    except queue.Empty:
        line = ""
    found = _FORWARDING.match(line)
    if found is None:
        raise InvalidData(f"kubectl port-forward to {door.pod}: {line.strip() or 'no answer'}")
    return int(found.group(1))
