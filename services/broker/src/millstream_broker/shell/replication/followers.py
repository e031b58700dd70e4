"""The fetches of those who follow this broker: who may copy a partition, and what a fetch says of how far its sender is."""

from millstream_broker.core.partition.standing import NO_EPOCH
from millstream_broker.core.reads.bounds import follower_refusal
from millstream_broker.core.reads.fetch_session import FetchPartition
from millstream_broker.shell.broker import Broker
from millstream_broker.shell.partition.hosted import HostedPartition
from millstream_cluster.ids import Role
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.serving.peer import NodePeer
from millstream_wire.errors import ErrorCode
from millstream_wire.usual.fetch_request import FetchAsked


def admitted(
    broker: Broker, replica: HostedPartition, wanted: FetchPartition, follower: FetchAsked, context: RequestContext
) -> HostedPartition | ErrorCode:
    """The partition, if this follower may copy it."""
    replica_id = int(follower.replica_id)
    node, peer = broker.image.node(replica_id), context.peer
    refusal = follower_refusal(
        replica.partition,
        replica_id,
        is_itself=isinstance(peer, NodePeer) and peer.role is Role.BROKER and peer.node_id == replica_id,
        broker_epoch=follower.replica_epoch,
        registered_epoch=None if node is None else node.epoch,
        current_leader_epoch=wanted.current_leader_epoch,
    )
    return replica if refusal is ErrorCode.NONE else refusal


def note(
    broker: Broker, replica: HostedPartition, wanted: FetchPartition, follower: FetchAsked, context: RequestContext
) -> None:
    """The follower, which is admitted and does not diverge, has what is before its offset, if it is one of ours and it names our epoch.

    It counts from when it arrived, however long reading takes here (KIP-501).
    """
    log, names_epoch = replica.log, wanted.current_leader_epoch != NO_EPOCH
    if names_epoch and log.log_start_offset <= wanted.fetch_offset <= log.log_end_offset:
        broker.fetched(
            replica,
            wanted.fetch_offset,
            replica_id=int(follower.replica_id),
            broker_epoch=follower.replica_epoch,
            arrived_ms=context.received_at_ms,
            log_start_offset=wanted.log_start_offset,
            cannot_append=wanted.cannot_append,
        )
