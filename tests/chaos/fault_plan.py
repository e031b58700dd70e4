"""Which faults a seed means: what is done to whom, for how long, and what comes at the same time. Decides; does nothing."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Family(StrEnum):
    KILL = "kill"
    """kill -9, and started again."""
    PAUSE = "pause"
    """SIGSTOP, and SIGCONT."""
    STOP = "stop"
    """A clean stop, and started again."""
    CUT = "cut"
    """Links to some or all others carry nothing."""
    ONE_WAY = "one-way"
    """Links to some or all others carry nothing in one direction."""
    FULL = "full"
    """The disk takes nothing more."""
    POWER = "power"
    """kill -9, and what was not flushed is gone from the disk."""
    EMPTY = "empty"
    """kill -9, and the disk is empty."""
    BLACK_OUT = "black-out"
    """What `power` does to one broker, to all of them at the same moment: what none has flushed is gone."""
    REST = "rest"
    """Nothing is done: what faults are measured by on a machine that has other work."""


LOSES_DATA = frozenset({Family.POWER, Family.EMPTY})
"""One replica's own records are gone by design: what was acknowledged has to be on others."""
FOR_ITSELF = frozenset({Family.BLACK_OUT, Family.REST})
"""Left out of mixed runs: the one loses what was acknowledged unless it is flushed first, the other is nothing."""
NEEDS_NETWORK = frozenset({Family.CUT, Family.ONE_WAY})
NEEDS_DISKS = frozenset({Family.FULL, Family.POWER, Family.BLACK_OUT})
ON_BROKERS_ONLY = frozenset({Family.FULL, Family.POWER, Family.EMPTY, Family.BLACK_OUT})
SILENT = frozenset({Family.PAUSE, Family.CUT, Family.ONE_WAY})
"""No kernel tells of them: who is hit is missed when its session ends, and not at all if it is back before."""
MIXED = "mixed"

SHORT_S, LONG_S = (0.2, 2.0), (7.0, 12.0)
"""Within what a session of 6 s bridges, and well beyond it."""
CALM_S = (1.0, 3.0)
BROKERS_SHARE = 0.6
BESIDE_SHARE = 0.25
"""How often something else goes wrong at the same time."""


@dataclass(frozen=True, slots=True)
class Fault:
    family: Family
    victim: str
    duration_s: float
    calm_s: float
    """How long nothing happens before it."""
    others: tuple[str, ...] = ()
    """Cuts: whom the victim is cut from. The clients are one of them."""
    inwards: bool = True
    """One-way cuts: what comes to the victim is lost, or what it sends."""
    in_part: bool = False
    """Cuts: some other node still reaches the victim."""
    beside: "Fault | None" = None

    @property
    def extent(self) -> str:
        """What makes a silent fault another one: whether it outlasts a session, and who notices it at all."""
        briefly = ["briefly"] if self.family in SILENT and self.duration_s < LONG_S[0] else []
        return ", ".join((["in part"] if self.in_part else []) + briefly)

    @property
    def detail(self) -> str:
        cut = ""
        if self.family is Family.CUT:
            cut = f" from {','.join(self.others)}"
        if self.family is Family.ONE_WAY:
            cut = f" {'from' if self.inwards else 'to'} {','.join(self.others)}"
        return f"{self.duration_s:.1f} s{cut}"


@dataclass(frozen=True, slots=True)
class Cast:
    """Whom faults may hit: names by kind of process, the brokers first. `clients` is where the workload runs."""

    brokers: Sequence[str]
    others: Sequence[Sequence[str]] = ()
    clients: str = "clients"
    spared: frozenset[str] = frozenset()
    """Who is there and never hit."""

    @property
    def everybody(self) -> list[str]:
        return [*self.brokers, *(name for kind in self.others for name in kind)]

    @property
    def victims(self) -> list[str]:
        return [name for name in self.everybody if name not in self.spared]

    def kind_of(self, name: str) -> Sequence[str]:
        return next(kind for kind in (self.brokers, *self.others) if name in kind)


def faults(seed: int, families: Sequence[Family], cast: Cast) -> Iterator[Fault]:
    """One fault after the other, without end: a run takes as many as it has time for."""
    drawn = random.Random(f"{seed} {' '.join(sorted(families))}")
    while True:
        fault = _draw(drawn, families, cast, cast.victims)
        mild = [family for family in families if family not in LOSES_DATA]
        others = [name for name in cast.victims if name not in cast.kind_of(fault.victim)]
        if mild and others and len(families) > 1 and drawn.random() < BESIDE_SHARE:
            beside = _draw(drawn, mild, cast, others)
            fault = replace(fault, beside=beside)
        yield fault


def _draw(drawn: random.Random, families: Sequence[Family], cast: Cast, among: Sequence[str]) -> Fault:
    brokers = [name for name in among if name in cast.brokers]
    others = [name for name in among if name not in cast.brokers]
    usable = [family for family in families if brokers or family not in ON_BROKERS_ONLY]
    family = drawn.choice(usable or [Family.KILL])
    hits_broker = brokers and (family in ON_BROKERS_ONLY or not others or drawn.random() < BROKERS_SHARE)
    victim = drawn.choice(brokers if hits_broker else others)
    duration_s = round(drawn.uniform(*drawn.choice((SHORT_S, LONG_S))), 2)
    calm_s = round(drawn.uniform(*CALM_S), 2)
    if family not in NEEDS_NETWORK:
        return Fault(family, victim, duration_s, calm_s)
    others = _cut_from(drawn, victim, cast)
    in_part = len(set(others) - {cast.clients}) < len(cast.everybody) - 1
    return Fault(family, victim, duration_s, calm_s, others, drawn.random() < 0.5, in_part)


def _cut_from(drawn: random.Random, victim: str, cast: Cast) -> tuple[str, ...]:
    """Everybody and the clients, everybody but the clients, or one kind of process only."""
    rest = [name for name in cast.everybody if name != victim]
    kinds = [[name for name in kind if name != victim] for kind in (cast.brokers, *cast.others)]
    choices = [[*rest, cast.clients], rest, *filter(None, kinds)]
    return tuple(drawn.choice(choices))
