"""More brokers, and fewer: replicas go to those that came, and away from those that shall go.

Where a replica goes is the placement library's decision, as it is the controller's; the controller carries the moves out, and takes no copy away before
another is in sync. A broker goes in steps, of which none is skipped however long it takes: it is cordoned, its replicas move, none is
left, its pod goes, it is forgotten. Every plan is made anew from what is there, and may be stopped after any step.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from millstream_cluster.ids import NodeId
from millstream_cluster.placement import Candidate, Carried, even_leaders, even_replicas
from millstream_cluster.placement import Move as Placed
from millstream_cluster.placement import replace as replacements
from millstream_operator.plan.conditions import Condition
from millstream_operator.plan.partitions import PartitionStanding

MOVES_AT_ONCE = 32
LEADERS_AT_ONCE = 1000
UNEVEN_PART_MAX = 0.1
"""Of the mean: how far the bytes of brokers may differ for them to count as even."""
NAMED_MAX = 5

Key = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class RegisteredBroker:
    rack: str | None = None
    is_live: bool = True
    is_cordoned: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """The brokers that the cluster knows, how all partitions stand, and how many bytes one replica of each has."""

    brokers: Mapping[int, RegisteredBroker]
    partitions: Sequence[PartitionStanding]
    sizes: Mapping[Key, int]
    placed: frozenset[str] = frozenset()
    """Topics for which a resource names the brokers: they are not evened out."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What the status remembers from one look to the next."""

    balanced: int | None = None
    """Over how many brokers the replicas have been spread; None before the first look."""
    cordoned: tuple[int, ...] = ()
    """Whom the operator cordoned. What a person cordoned it leaves alone."""
    throttled: tuple[str, ...] = ()
    """The topics whose copies are held back."""
    announced: int | None = None
    """For how many brokers a plan has been told: nothing moves in the look that makes the plan."""


@dataclass(frozen=True, slots=True)
class Cordon:
    broker: int


@dataclass(frozen=True, slots=True)
class Uncordon:
    broker: int


@dataclass(frozen=True, slots=True)
class Reassign:
    replicas: Mapping[Key, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class ElectPreferred:
    """Let those lead that come first now."""


@dataclass(frozen=True, slots=True)
class Throttle:
    topics: tuple[str, ...]
    brokers: tuple[int, ...]
    bytes_per_second: int


@dataclass(frozen=True, slots=True)
class Unthrottle:
    topics: tuple[str, ...]
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unregister:
    broker: int


Step = Cordon | Uncordon | Reassign | ElectPreferred | Throttle | Unthrottle | Unregister


@dataclass(frozen=True, slots=True)
class Movement:
    """What is left to move: how much, and how long it takes at the rate that is set."""

    partitions: int
    bytes: int
    seconds: int | None


@dataclass(frozen=True, slots=True)
class Scale:
    replicas: int
    """How many broker pods there shall be now."""
    noted: Noted
    """To be remembered before the steps are taken."""
    steps: tuple[Step, ...] = ()
    after: Noted | None = None
    """To be remembered once the steps are taken: until then they are taken again."""
    movement: Movement | None = None
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    brokers: int
    rebalances: bool = True
    bytes_per_second: int | None = None


def plan_scale(wanted: Wanted, pods: int, view: View | None, noted: Noted) -> Scale:
    """`pods`: how many the StatefulSet has been told; `view`: None where nobody answers."""
    if noted.balanced is None:
        noted = replace(noted, balanced=pods or wanted.brokers)
    if wanted.brokers > pods:
        return Scale(wanted.brokers, noted)
    if view is None:
        blocked = Condition(
            "Progressing", False, "ScaleDownBlocked", "no broker answers which partitions the brokers hold"
        )
        return Scale(pods, noted, condition=blocked if wanted.brokers < pods else None)
    if wanted.brokers < pods:
        return _drain(wanted, pods, view, noted)
    return _settle(wanted, view, noted)


def _drain(wanted: Wanted, pods: int, view: View, noted: Noted) -> Scale:
    leaving = frozenset(range(wanted.brokers, pods))
    open_ones = [node for node in sorted(leaving) if _is_open(node, view, noted)]
    noted = replace(noted, balanced=min(noted.balanced or wanted.brokers, wanted.brokers))
    if open_ones:
        noted = replace(noted, cordoned=tuple(sorted({*noted.cordoned, *open_ones})))
        steps = tuple(Cordon(node) for node in open_ones)
        return Scale(pods, noted, steps, condition=_draining(leaving, "they are cordoned"))
    holding = [each for each in view.partitions if leaving.intersection(each.replicas)]
    if not holding:
        ended = _draining(leaving, "they hold nothing any more")
        return _unthrottled(Scale(wanted.brokers, replace(noted, announced=None), condition=ended), view)
    planned = _replicas(replacements(carried(view), candidates(view, leaving), _ids(leaving)))
    stuck = [
        each for each in holding if not each.is_moving and leaving.intersection(planned.get(_key(each), each.replicas))
    ]
    if stuck:
        named = ", ".join(f"{each.name} ({len(each.replicas)} replicas)" for each in stuck[:NAMED_MAX])
        message = f"{len(stuck)} partitions have no other broker to go to, such as {named}"
        return Scale(pods, noted, condition=Condition("Progressing", False, "ScaleDownBlocked", message))
    movement = _movement(planned, view, wanted)
    told = f"{len(holding)} partitions are still there"
    return _moving(pods, wanted, view, noted, planned, movement, _draining(leaving, told))


def _settle(wanted: Wanted, view: View, noted: Noted) -> Scale:
    """As many pods as wanted: forget who left, open who stays, and give those that came their share."""
    gone = [node for node, broker in view.brokers.items() if node >= wanted.brokers and not broker.is_live]
    held = Counter(node for each in view.partitions for node in each.replicas)
    forgotten = [node for node in sorted(gone) if not held[node]]
    opened = [node for node in noted.cordoned if node < wanted.brokers or node not in view.brokers or node in forgotten]
    if forgotten or opened:
        steps: tuple[Step, ...] = (*map(Uncordon, opened), *map(Unregister, forgotten))
        left = tuple(node for node in noted.cordoned if node not in opened)
        return Scale(wanted.brokers, noted, steps, after=replace(noted, cordoned=left))
    here = [node for node in range(wanted.brokers) if node in view.brokers and view.brokers[node].is_live]
    if noted.balanced == wanted.brokers or not wanted.rebalances:
        return _unthrottled(Scale(wanted.brokers, noted), view)
    if len(here) < wanted.brokers:
        waiting = Condition("Progressing", True, "ScalingUp", f"{len(here)} of {wanted.brokers} brokers are registered")
        return Scale(wanted.brokers, noted, condition=waiting)
    return _spread(wanted, view, noted)


def _spread(wanted: Wanted, view: View, noted: Noted) -> Scale:
    held: defaultdict[int, list[Carried]] = defaultdict(list)
    for each in carried(view):
        for node in each.replicas if each.topic not in view.placed else ():
            held[node].append(each)
    brokers = candidates(view, frozenset())
    moves = [] if _are_even(brokers) else even_replicas(brokers, lambda node: held[node])
    planned = _replicas(moves)
    movement = _movement(planned, view, wanted)
    if planned or any(each.is_moving for each in view.partitions):
        message = f"replicas are spread over {wanted.brokers} brokers: {movement.partitions} partitions, {movement.bytes} bytes to go"
        return _moving(
            wanted.brokers,
            wanted,
            view,
            noted,
            planned,
            movement,
            Condition("Progressing", True, "Rebalancing", message),
        )
    leaders = even_leaders(carried(view), [NodeId(node) for node in sorted(view.brokers)])
    if leaders:
        steps = (Reassign(_replicas(leaders[:LEADERS_AT_ONCE])), ElectPreferred())
        message = f"leaders are spread over {wanted.brokers} brokers: {len(leaders)} to go"
        return Scale(wanted.brokers, noted, steps, condition=Condition("Progressing", True, "Rebalancing", message))
    return _unthrottled(Scale(wanted.brokers, replace(noted, balanced=wanted.brokers, announced=None)), view)


def _moving(
    pods: int,
    wanted: Wanted,
    view: View,
    noted: Noted,
    planned: Mapping[Key, tuple[int, ...]],
    movement: Movement,
    condition: Condition,
) -> Scale:
    """The next moves of a plan, once those before are done. The look that makes a plan only tells it."""
    if noted.announced != wanted.brokers:
        return Scale(pods, replace(noted, announced=wanted.brokers), movement=movement, condition=condition)
    if any(each.is_moving for each in view.partitions):
        return Scale(pods, noted, movement=movement, condition=condition)
    batch = dict(islice(sorted(planned.items()), MOVES_AT_ONCE))
    if wanted.bytes_per_second is None:
        return _unthrottled(Scale(pods, noted, (Reassign(batch),), movement=movement, condition=condition), view)
    topics = tuple(sorted({topic for topic, _ in batch}))
    over = tuple(topic for topic in noted.throttled if topic not in topics)
    steps: list[Step] = [Unthrottle(over, ())] if over else []
    steps += [Throttle(topics, _all(view), wanted.bytes_per_second), Reassign(batch)]
    held_back = replace(noted, throttled=tuple(sorted({*noted.throttled, *topics})))
    return Scale(pods, held_back, tuple(steps), replace(noted, throttled=topics), movement, condition)


def _unthrottled(scale: Scale, view: View) -> Scale:
    if not scale.noted.throttled:
        return scale
    steps = (Unthrottle(scale.noted.throttled, _all(view)), *scale.steps)
    return replace(scale, steps=steps, after=replace(scale.noted, throttled=()))


def _are_even(candidates: Sequence[Candidate]) -> bool:
    """Enough to leave it at that: while records come in, bytes are never quite even."""
    accepting = [each for each in candidates if each.accepts]
    replicas, sizes = [each.replicas for each in accepting], [each.size for each in accepting]
    mean = sum(sizes) / max(len(sizes), 1)
    return max(replicas) - min(replicas) <= 1 and max(sizes) - min(sizes) <= mean * UNEVEN_PART_MAX


def _is_open(node: int, view: View, noted: Noted) -> bool:
    """Whether the broker may still be given replicas. One that does not answer is known by what was noted."""
    broker = view.brokers.get(node)
    return broker is not None and not broker.is_cordoned and (broker.is_live or node not in noted.cordoned)


def _all(view: View) -> tuple[int, ...]:
    return tuple(sorted(view.brokers))


def _draining(leaving: frozenset[int], told: str) -> Condition:
    named = ", ".join(f"broker {node}" for node in sorted(leaving)[:NAMED_MAX])
    return Condition("Progressing", True, "Draining", f"{named}: {told}")


def _movement(planned: Mapping[Key, tuple[int, ...]], view: View, wanted: Wanted) -> Movement:
    before = {_key(each): frozenset(each.replicas) for each in view.partitions}
    copied = sum(view.sizes.get(key, 0) * len(set(replicas) - before[key]) for key, replicas in planned.items())
    seconds = copied // wanted.bytes_per_second if wanted.bytes_per_second else None
    return Movement(len(planned), copied, seconds)


def _key(partition: PartitionStanding) -> Key:
    return partition.topic, partition.index


def carried(view: View) -> list[Carried]:
    """What stands still: a partition on the move shows where it is, not where it goes."""
    return [
        Carried(_key(each), each.topic, tuple(map(NodeId, each.replicas)), view.sizes.get(_key(each), 0))
        for each in view.partitions
        if not each.is_moving
    ]


def candidates(view: View, leaving: frozenset[int]) -> list[Candidate]:
    replicas: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for each in view.partitions:
        for node in each.replicas:
            replicas[node] += 1
            sizes[node] += view.sizes.get(_key(each), 0)
    return [
        Candidate(
            NodeId(node),
            broker.rack,
            replicas=replicas[node],
            size=sizes[node],
            accepts=broker.is_live and not broker.is_cordoned and node not in leaving,
        )
        for node, broker in sorted(view.brokers.items())
    ]


def _ids(nodes: frozenset[int]) -> frozenset[NodeId]:
    return frozenset(map(NodeId, nodes))


def _replicas(moves: Iterable[Placed]) -> dict[Key, tuple[int, ...]]:
    planned: dict[Key, tuple[int, ...]] = {}
    for move in moves:
        key = move.key
        assert isinstance(key, tuple)
        planned[key] = tuple(move.replicas)
    return planned
