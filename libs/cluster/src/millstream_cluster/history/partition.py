"""What one change of a partition means, in words: who leads, who is in sync, what moves where."""

from collections.abc import Callable, Iterable, Iterator

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, UNOPENED_DIRECTORY, NodeId
from millstream_wire.late_dataclass import dataclass

State = r.PartitionCreated | r.PartitionChanged
WhyGone = Callable[[NodeId], str]
"""What became of a broker that explains the change, if anything did."""


@dataclass(frozen=True, slots=True)
class Change:
    what: str
    why: str
    nodes: frozenset[int]


def first_seen(state: State) -> Change:
    leader = f"broker {state.leader} leads" if state.leader != NO_NODE else "no leader"
    what = f"{leader}; in sync {_ids(state.isr)}; replicas {_ids(state.replicas)}"
    is_new = isinstance(state, r.PartitionCreated)
    return Change(
        f"created: {what}" if is_new else what,
        "" if is_new else "what was before is not kept",
        frozenset((*state.replicas, state.leader)),
    )


def changes(before: State, after: State, why_node_gone: WhyGone) -> Iterator[Change]:
    unopened = _unopened(after) - _unopened(before)

    def why_gone(node: NodeId) -> str:
        return f"broker {node} cannot open it" if node in unopened else why_node_gone(node)

    found = [*_leader(before, after, why_gone), *_replicas(before, after), *_in_sync(before, after, why_gone)]
    found += [*_eligible(before, after), *_recovery(before, after)]
    if not found and after.directories != before.directories:
        found.append(Change("a replica is in another directory", "", frozenset(after.replicas)))
    if not found:
        found.append(Change(f"leader epoch {after.leader_epoch}", "", frozenset({after.leader})))
    yield from found


def _unopened(state: State) -> set[NodeId]:
    places = zip(state.replicas, state.directories, strict=False)
    return {node for node, place in places if place == UNOPENED_DIRECTORY}


def _leader(before: State, after: State, why_gone: WhyGone) -> Iterator[Change]:
    if after.leader == before.leader:
        return
    nodes = frozenset({before.leader, after.leader} - {NO_NODE})
    gone = why_gone(before.leader) if before.leader != NO_NODE else ""
    if after.leader == NO_NODE:
        yield Change("no leader", gone or "none of those in sync is there", nodes)
        return
    instead = f" instead of broker {before.leader}" if before.leader != NO_NODE else ""
    what = f"broker {after.leader} leads{instead}"
    recovering = r.LeaderRecoveryState.RECOVERING
    if after.leader_recovery_state is recovering and before.leader_recovery_state is not recovering:
        yield Change(f"{what}, elected uncleanly: records may be lost", gone or "nobody in sync is there", nodes)
    elif before.leader == NO_NODE:
        yield Change(what, f"broker {after.leader} is there again", nodes)
    elif before.leader not in after.replicas:
        yield Change(what, f"the replica of broker {before.leader} moved", nodes)
    else:
        is_preferred = after.leader == after.replicas[0]
        yield Change(what, gone or ("it is the preferred leader" if is_preferred else ""), nodes)


def _replicas(before: State, after: State) -> Iterator[Change]:
    was, now = _target(before), _target(after)
    moved, moves = before.adding_replicas or before.removing_replicas, after.adding_replicas or after.removing_replicas
    nodes = frozenset({*before.replicas} ^ {*after.replicas}).union(after.adding_replicas, after.removing_replicas)
    if moves and (not moved or now != was):
        yield Change(f"replicas move from {_ids(_origin(after))} to {_ids(now)}", "", nodes)
    elif moved and not moves:
        done = set(after.replicas) == set(was)
        word = "moved: they are" if done else "stay"
        yield Change(f"replicas {word} {_ids(after.replicas)}; in sync {_ids(after.isr)}", "", nodes)
    elif after.replicas != before.replicas:
        yield Change(f"replicas {_ids(after.replicas)}; in sync {_ids(after.isr)}", "", nodes)


def _target(state: State) -> tuple[NodeId, ...]:
    return tuple([each for each in state.replicas if each not in state.removing_replicas])


def _origin(state: State) -> tuple[NodeId, ...]:
    return tuple([each for each in state.replicas if each not in state.adding_replicas])


def _in_sync(before: State, after: State, why_gone: WhyGone) -> Iterator[Change]:
    now = f"; in sync {_ids(after.isr)}"
    left = [each for each in before.isr if each not in after.isr and each in after.replicas]
    for node in left:
        why = why_gone(node) or "it did not keep up with the leader"
        yield Change(f"broker {node} out of sync{now}", why, frozenset({node}))
    came = [each for each in after.isr if each not in before.isr]
    if came:
        new = all(each in before.adding_replicas or each not in before.replicas for each in came)
        word = "in sync" if new else "in sync again"
        yield Change(f"{_brokers(came)} {word}{now}", "caught up with the leader", frozenset(came))


def _eligible(before: State, after: State) -> Iterator[Change]:
    new = [each for each in after.eligible_leader_replicas if each not in before.eligible_leader_replicas]
    if new:
        what = f"{_brokers(new)} may still lead without a loss"
        yield Change(what, "nothing is committed with fewer in sync than min.insync.replicas", frozenset(new))


def _recovery(before: State, after: State) -> Iterator[Change]:
    if after.leader_recovery_state is not before.leader_recovery_state and not _is_unclean(after):
        yield Change("recovered from the unclean election", "", frozenset({after.leader}))


def _is_unclean(state: State) -> bool:
    return state.leader_recovery_state is r.LeaderRecoveryState.RECOVERING


def _ids(nodes: Iterable[int]) -> str:
    return ",".join(map(str, nodes)) or "nobody"


def _brokers(nodes: list[NodeId]) -> str:
    return f"broker {nodes[0]}" if len(nodes) == 1 else f"brokers {_ids(nodes)}"
