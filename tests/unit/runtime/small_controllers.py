"""Small controllers that remember what they were asked and misbehave on request, over the simulated network."""

import asyncio

from millstream_cluster.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import (
    MetadataRecord,
    encode_record,
)
from millstream_runtime.nodes.controllers import ControllerLink
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from millstream_wire.messages.create_topics import CreatableTopic, CreatableTopicResult
from millstream_wire.messages.fetch import FetchableTopicResponse, PartitionData
from millstream_wire.messages.fetch_snapshot import ResponsePartitionSnapshot, ResponseTopicSnapshot, SnapshotId
from millstream_wire.records import Record, encode_batch

PORT = 9093


class Controller:
    """Remembers what it was asked; answers what it was told to."""

    def __init__(self, *, active: bool = True) -> None:
        self.active = active
        self.created: list[str] = []
        self.log: list[MetadataRecord] = []
        self.log_start = 0
        self.registrations = 0
        self.heartbeats: list[tuple[int, bool]] = []
        self.registration_error = ErrorCode.NONE
        self.heartbeat_error = ErrorCode.NONE
        self.lets_in_from = 1
        self.may_stop = True

    def error(self, otherwise: ErrorCode = ErrorCode.NONE) -> ErrorCode:
        return otherwise if self.active else ErrorCode.NOT_CONTROLLER


def create_topics(app: Controller, request, context) -> CreateTopicsResponse:
    if app.active:
        app.created += [topic.name for topic in request.topics]
    results = [CreatableTopicResult(name=topic.name, error_code=app.error()) for topic in request.topics]
    return CreateTopicsResponse(topics=results)


def register(app: Controller, request, context) -> BrokerRegistrationResponse:
    error = app.error(app.registration_error)
    if error is ErrorCode.NONE:
        app.registrations += 1
    return BrokerRegistrationResponse(error_code=error, broker_epoch=100 + app.registrations)


def heartbeat(app: Controller, request, context) -> BrokerHeartbeatResponse:
    error = app.error(app.heartbeat_error)
    app.heartbeats.append((request.broker_epoch, request.want_shut_down))
    return BrokerHeartbeatResponse(
        error_code=error,
        is_fenced=request.current_metadata_offset < app.lets_in_from,
        should_shut_down=request.want_shut_down and app.may_stop,
    )


def batch_of(records: list[MetadataRecord], base_offset: int) -> bytes:
    pairs = [encode_record(record, NEWEST) for record in records]
    return encode_batch([Record(0, 1, key, value) for key, value in pairs], base_offset=base_offset)


async def fetch(app: Controller, request, context) -> FetchResponse:
    position = request.topics[0].partitions[0].fetch_offset
    data = PartitionData(partition_index=0, error_code=app.error(), high_watermark=len(app.log))
    if app.active and not app.log_start <= position <= len(app.log):
        data.error_code, data.log_start_offset = ErrorCode.OFFSET_OUT_OF_RANGE, app.log_start
    elif position < len(app.log):
        data.records = batch_of(app.log[position:], position)
    else:
        await asyncio.sleep(0.2)
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[data])])


def fetch_snapshot(app: Controller, request, context) -> FetchSnapshotResponse:
    content = batch_of(app.log[: app.log_start], 0)
    asked = request.topics[0].partitions[0]
    part = ResponsePartitionSnapshot(
        snapshot_id=SnapshotId(end_offset=app.log_start, epoch=1),
        size=len(content),
        position=asked.position,
        unaligned_records=content[asked.position : asked.position + 50],
    )
    return FetchSnapshotResponse(topics=[ResponseTopicSnapshot(name=METADATA_TOPIC, partitions=[part])])


HANDLERS = {
    ApiKey.CREATE_TOPICS: serve(CreateTopicsRequest, create_topics),
    ApiKey.BROKER_REGISTRATION: serve(BrokerRegistrationRequest, register),
    ApiKey.BROKER_HEARTBEAT: serve(BrokerHeartbeatRequest, heartbeat),
    ApiKey.FETCH: serve(FetchRequest, fetch),
    ApiKey.FETCH_SNAPSHOT: serve(FetchSnapshotRequest, fetch_snapshot),
}


async def start(hosts, *controllers: Controller) -> list[tuple[str, int]]:
    addresses = []
    for number, controller in enumerate(controllers):
        name = f"controller-{number}"
        server = Server(name, HANDLERS, controller, hosts.world(name))
        await server.listen(name, PORT)
        addresses.append((name, PORT))
    return addresses


def link_of(hosts, addresses) -> ControllerLink:
    return ControllerLink(hosts.world("node"), addresses, client_id="node")


async def until(condition, timeout_s: float = 30) -> None:
    async with asyncio.timeout(timeout_s):
        while True:
            if condition():
                return
            await asyncio.sleep(0.02)


def create(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=1, replication_factor=1)])
