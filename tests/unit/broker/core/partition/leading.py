"""A partition that node 1 leads in epoch 3, what its followers and the controller say, and what it proposes."""

from typing import Any

from millstream_broker.core.partition.effects import (
    Effect,
    IsrMember,
    LogStartsMoved,
    ProposeIsr,
)
from millstream_broker.core.partition.isr import IsrAnswer
from millstream_broker.core.partition.standing import Assigned, Partition
from millstream_wire.errors import ErrorCode

LAG_MS = 1_000
LEADER_EPOCH, PARTITION_EPOCH = 3, 7
LIFE = 100
"""The broker epoch of node 2 is 102, and so on."""


def assigned(*isr: int, leader_epoch: int = LEADER_EPOCH, partition_epoch: int = PARTITION_EPOCH) -> Assigned:
    return Assigned((1, 2, 3), isr, 1, leader_epoch, partition_epoch)


def leader(*isr: int, end_offset: int = 10, high_watermark: int = 10, min_insync_replicas: int = 1) -> Partition:
    """Node 1 leads in epoch 3 from its log's end on."""
    partition = Partition(
        1, end_offset=end_offset, high_watermark=high_watermark, min_insync_replicas=min_insync_replicas
    )
    partition.on_assigned(assigned(*isr))
    return partition


def fetch(partition: Partition, node: int, offset: int, now_ms: int = 0, **fields: Any) -> tuple[Effect, ...]:
    fields = {"broker_epoch": LIFE + node, "may_join": True, **fields}
    effects = partition.on_fetched(node, offset, now_ms=now_ms, **fields)
    partition.check()
    return tuple(effect for effect in effects if not isinstance(effect, LogStartsMoved))


def proposal(*isr: int, unheard: tuple[int, ...] = (), partition_epoch: int = PARTITION_EPOCH) -> ProposeIsr:
    lives = {node: -1 if node == 1 or node in unheard else LIFE + node for node in isr}
    return ProposeIsr(tuple(IsrMember(node, life) for node, life in lives.items()), LEADER_EPOCH, partition_epoch)


def taken(*isr: int, partition_epoch: int = PARTITION_EPOCH + 1) -> IsrAnswer:
    return IsrAnswer(ErrorCode.NONE, isr, LEADER_EPOCH, partition_epoch)


def ignore(_: ErrorCode) -> None: ...
