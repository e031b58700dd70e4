"""What time and circumstance demand, without anybody asking: one timer command, repeated until it has nothing to do.

In order: nodes that fell silent are fenced, partitions without a leader get one, shards go to live coordinators,
coordinators that stay away are forgotten, replicas of brokers that stay away are made again, and preferred leaders lead again.
"""

from itertools import islice

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import Role
from millstream_cluster.members import Node
from millstream_cluster.records import FenceReason
from millstream_controller.core.absences import Absences
from millstream_controller.core.healing import Healing
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX, fence
from millstream_controller.core.nodes.sessions import Sessions
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.leader_balance import LeaderBalance
from millstream_controller.core.partitions.leadership import take_up
from millstream_controller.core.partitions.least_isr import settled_least_isr
from millstream_controller.core.settings import Settings
from millstream_controller.core.shards import balance
from millstream_wire.late_dataclass import dataclass

ALL_SILENT_SESSIONS = 10
"""So much longer coordinators are believed to be there when none of them is heard."""


@dataclass(frozen=True, slots=True)
class SoftState:
    """What one active controller remembers and its successor does not: it decides when something is done, never what is true."""

    sessions: Sessions
    absences: Absences
    healing: Healing
    leader_balance: LeaderBalance

    @staticmethod
    def new(settings: Settings) -> "SoftState":
        return SoftState(
            Sessions(settings.session_timeout_ms, settings.first_session_timeout_ms),
            Absences(settings.coordinator_forget_ms),
            Healing(),
            LeaderBalance(),
        )


@dataclass(frozen=True, slots=True)
class Now:
    monotonic_ms: int
    """For how long something lasts, as this controller sees it."""
    wall_ms: int
    """The time of day: what other controllers wrote down is compared with it."""


def keep_up(
    machine: ControllerMachine, soft: SoftState, now: Now, *, settled_offset: int = -1
) -> Decision[r.MetadataRecord, bool]:
    """The next step of upkeep; the reply tells whether there was one. None: all is well until something changes.

    What depends on the metadata alone is not looked at again while it still ends at `settled_offset`.
    """
    now_ms = now.monotonic_ms
    soft.absences.look(machine, now_ms)
    for node in overdue(machine, soft.sessions, now_ms):
        return Decision(fence(machine, node, soft.sessions.why_ended(node)), True)
    if machine.image.offset != settled_offset:
        due = settled_least_isr(machine) or _elections(machine) or balance(machine)
        if due:
            return Decision(due, True)
    gone = soft.absences.over(machine, now_ms)
    due = (
        tuple(r.NodeUnregistered(node.node_id, node.epoch) for node in gone)
        or soft.healing.next_step(machine, soft.absences, now_ms=now_ms, wall_ms=now.wall_ms)
        or soft.leader_balance.next_step(machine, now_ms)
    )
    return Decision(due, bool(due))


def overdue(machine: ControllerMachine, sessions: Sessions, now_ms: int) -> list[Node]:
    """Who is to be fenced for its silence."""
    expired = sessions.expired(machine.image.nodes.values(), now_ms)
    return [node for node in expired if node.role is Role.BROKER or _is_replaceable(machine, sessions, node, now_ms)]


def _is_replaceable(machine: ControllerMachine, sessions: Sessions, node: Node, now_ms: int) -> bool:
    """A coordinator is fenced so that another one takes its shards. Where all are silent, this controller may be cut off from those who serve on."""
    settings = machine.settings
    silent_ms = sessions.silence_ms(node, now_ms)
    if sessions.why_ended(node) is FenceReason.DIED or silent_ms >= ALL_SILENT_SESSIONS * settings.session_timeout_ms:
        return True
    others = (each for each in machine.image.coordinators.values() if not each.fenced and each is not node)
    return any(sessions.is_heard(each, now_ms, settings.patience_ms) for each in others)


def _elections(machine: ControllerMachine) -> tuple[r.MetadataRecord, ...]:
    return tuple(islice(take_up(machine.offline_partitions(), Electorate(machine)), RECORDS_MAX))
