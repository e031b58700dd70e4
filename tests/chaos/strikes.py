"""Carries faults out: strikes, waits, heals, and waits until the cluster is whole again before the next."""

import time
from collections.abc import Callable, Iterator
from itertools import count

from fault_plan import NEEDS_NETWORK, Family, Fault
from history import Healed, HistoryFile, Struck, Trouble, Whole, now
from network import Loopback, Network
from systems import System

WHOLE_WITHIN_S = 60
_LOOK_S = 0.25


class Striker:
    """`not_whole` says which replicas are not in sync, or nothing; `put_leaders_back` elects those who are preferred."""

    def __init__(
        self,
        system: System,
        network: Network | Loopback,
        history: HistoryFile,
        not_whole: Callable[[], str],
        put_leaders_back: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self._system = system
        self._network = network
        self._history = history
        self._not_whole = not_whole
        self._put_leaders_back = put_leaders_back
        self._say = say
        self._numbers = count(1)
        self.problems: list[str] = []
        """What went wrong that no client sees: a node that did not stop, or did not come back in sync."""

    def run(self, faults: Iterator[Fault], until: float) -> None:
        """One after the other until that time of the monotonic clock; a fault that has begun comes to its end."""
        for fault in faults:
            ending = time.monotonic() + fault.calm_s + fault.duration_s
            if ending > until:
                return
            time.sleep(fault.calm_s)
            self._one(fault)
            if self.problems:
                return  # what comes after would say nothing new

    def _one(self, fault: Fault) -> None:
        struck = [(next(self._numbers), each) for each in (fault, fault.beside) if each is not None]
        for number, each in struck:
            self._say(f"{number:>3} {each.family} {each.victim} {each.detail}")
            self._history.note(Struck(number, each.family, each.victim, each.detail, now(), each.extent))
            self._strike(each)
        begun = time.monotonic()
        for number, each in sorted(struck, key=lambda pair: pair[1].duration_s):
            time.sleep(max(0.0, begun + each.duration_s - time.monotonic()))
            if each.family not in NEEDS_NETWORK:
                self._heal(each)
                self._history.note(Healed(number, now()))
        for number, each in struck:
            if each.family in NEEDS_NETWORK:  # all links heal at once
                self._network.heal()
                self._history.note(Healed(number, now()))
        problem = self.wait_whole()
        self._history.note(*(Whole(number, at, problem) for at in [now()] for number, _ in struck))
        # Else who was down once leads nothing, and the next fault may hit nobody that matters.
        self._put_leaders_back()

    def _strike(self, fault: Fault) -> None:
        node = self._system.nodes[fault.victim]
        match fault.family:
            case Family.KILL:
                node.kill()
            case Family.POWER:
                node.kill()
                node.disk.lose_power()
            case Family.BLACK_OUT:
                for each in self._system.brokers:
                    each.kill()
                for each in self._system.brokers:
                    each.disk.lose_power()
            case Family.EMPTY:
                node.kill()
                node.disk.empty()
                self._system.before_empty_start(fault.victim)
            case Family.PAUSE:
                node.pause()
            case Family.STOP:
                if not node.stop():
                    self._problem(f"{fault.victim} did not stop in time")
            case Family.FULL:
                node.disk.fill()
            case Family.REST:
                pass
            case Family.CUT:
                self._cut(fault, inwards=True, outwards=True)
            case Family.ONE_WAY:
                self._cut(fault, inwards=fault.inwards, outwards=not fault.inwards)

    def _cut(self, fault: Fault, *, inwards: bool, outwards: bool) -> None:
        for other in fault.others:
            if inwards:
                self._network.cut(other, fault.victim)
            if outwards:
                self._network.cut(fault.victim, other)

    def _heal(self, fault: Fault) -> None:
        node = self._system.nodes[fault.victim]
        match fault.family:
            case Family.PAUSE:
                node.resume()
            case Family.FULL:
                node.disk.drain()
            case Family.BLACK_OUT:
                for each in self._system.brokers:
                    each.start()
            case Family.REST:
                pass
            case _:
                node.start()

    def wait_whole(self) -> str:
        """What still is not when the time is up, noted as a problem; else nothing."""
        deadline = time.monotonic() + WHOLE_WITHIN_S
        while True:
            self._revive()
            slow = [node.name for node in self._system.nodes.values() if not node.is_ready]
            problem = f"not ready: {','.join(slow)}" if slow else self._not_whole()
            if not problem:
                return ""
            if time.monotonic() > deadline:
                self._problem(f"not whole {WHOLE_WITHIN_S} s after a fault was healed: {problem}")
                return problem
            time.sleep(_LOOK_S)

    def _revive(self) -> None:
        """Start again who ended by itself, as a supervisor would."""
        for node in self._system.nodes.values():
            if ended := node.revive():
                self._history.note(Trouble(node.name, ended, fatal=True, at=now()))
                self._say(f"    {ended.splitlines()[0]}")

    def _problem(self, text: str) -> None:
        self.problems.append(text)
        self._say(f"    {text}")
