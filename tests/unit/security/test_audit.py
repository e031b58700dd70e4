"""What is said of who was refused and who changed what: one line each, and nothing that somebody else put there."""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import millstream_broker.api
import millstream_controller.api
import millstream_coordinator.api
from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.ids import NodeId
from millstream_cluster.image.acls import AclsImage
from millstream_cluster.principal import USER, Principal
from millstream_controller.app import ControllerApp
from millstream_controller.config import ControllerConfig
from millstream_runtime.nodes.client import Client
from millstream_runtime.properties import Properties
from millstream_runtime.serving.audit.audit import PER_SOURCE, Audit
from millstream_runtime.serving.audit.changes import CHANGES
from millstream_runtime.serving.audit.recording import recorded
from millstream_runtime.serving.audit.restraint import FOLD_S
from millstream_runtime.serving.authorization import STANDARD_AUTHORIZER
from millstream_runtime.serving.context import Connection, RawReply, RequestContext
from millstream_runtime.serving.peer import ClientPeer, NodePeer, Peer
from millstream_runtime.serving.refusals import refuse_all, refuse_some
from millstream_runtime.simulated.loop import VirtualTimeLoop
from millstream_runtime.simulated.network import Conditions, SimulatedNetwork
from millstream_runtime.simulated.world import SimulatedWorld
from millstream_security.authorization.authorizer import Authorizer, AuthorizerConfig
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DeleteTopicsRequest,
    DescribeAclsRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
)
from millstream_wire.messages.create_topics import CreatableTopic
from millstream_wire.messages.delete_groups import DeletableGroupResult
from millstream_wire.messages.delete_topics import DeleteTopicState

ALICE = ClientPeer(Principal(USER, "alice"))


class Said:
    def __init__(self, caplog: pytest.LogCaptureFixture, peer: Peer = ALICE) -> None:
        caplog.set_level(logging.INFO, "millstream.audit")
        self._caplog = caplog
        seed = random.Random(1)
        self.audit = Audit(SimulatedWorld(SimulatedNetwork(seed, Conditions()), "b", seed), "broker-0")
        authorizer = Authorizer(AuthorizerConfig(), AclsImage)
        connection = Connection(1, "10.0.0.7:5", "SASL", peer=peer, authorizer=authorizer, audit=self.audit)
        self.context = RequestContext(ApiKey.DELETE_GROUPS, 2, 1, "c", b"", connection, 0)

    @property
    def lines(self) -> list[str]:
        return [record.getMessage() for record in self._caplog.records if record.name.startswith("millstream.audit")]


Scene = Callable[[Said], Coroutine[Any, Any, None]]


@pytest.fixture
def play(caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    def run(scene: Scene, peer: Peer = ALICE) -> list[str]:
        async def body() -> list[str]:
            said = Said(caplog, peer)
            await scene(said)
            return said.lines

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            return runner.run(body())

    return run


Play = Callable[..., list[str]]


def test_a_denial_is_one_line(play: Play) -> None:
    async def scene(said: Said) -> None:
        assert refuse_all(DescribeAclsRequest(), said.context, AclOperation.DESCRIBE) is not None

    expected = "principal=User:alice host=10.0.0.7 api=DELETE_GROUPS operation=DESCRIBE resource=CLUSTER:kafka-cluster"
    assert play(scene) == [f"authorization denied {expected}"]


def test_each_item_that_is_refused_is_said_and_nobody_writes_lines_of_his_own(play: Play) -> None:
    async def scene(said: Said) -> None:
        request = DeleteGroupsRequest(groups_names=["a", "b\nauthorization denied principal=User:bob"])
        refuse_some(request, said.context, "groups_names", AclOperation.DELETE, AclResource.GROUP)

    assert [line.partition("resource=")[2] for line in play(scene)] == [
        "GROUP:a",
        "'GROUP:b\\nauthorization denied principal=User:bob'",
    ]


def test_who_goes_on_asking_is_said_once_and_counted(play: Play) -> None:
    async def scene(said: Said) -> None:
        for _ in range(1_000):
            said.context.denied(AclOperation.READ, AclResource.TOPIC, "t")
        await asyncio.sleep(FOLD_S + 1)

    first, counted = play(scene)
    assert counted == f"{first} repeated=999"


def test_no_more_lines_than_somebody_reads(play: Play) -> None:
    async def scene(said: Said) -> None:
        for number in range(1_000):
            said.context.denied(AclOperation.READ, AclResource.TOPIC, f"t{number}")
        await asyncio.sleep(1)
        said.context.denied(AclOperation.READ, AclResource.TOPIC, "another")

    lines = play(scene)
    assert len(lines) == PER_SOURCE + 1
    assert lines[-1].endswith(f"left_out={1_000 - PER_SOURCE}")


def test_a_name_of_any_length_is_a_line_of_some(play: Play) -> None:
    async def scene(said: Said) -> None:
        said.context.denied(AclOperation.READ, AclResource.GROUP, "g" * 30_000)

    (line,) = play(scene)
    assert len(line) < 1_000
    assert line.endswith("...(30006)")


def test_nothing_is_said_of_nodes(play: Play) -> None:
    async def scene(said: Said) -> None:
        assert refuse_all(DescribeAclsRequest(), said.context, AclOperation.DESCRIBE) is None

    assert play(scene, NodePeer.of(NodeId(1))) == []


# ---- changes ----


def delete_groups(said: Said, handle: Any) -> Any:
    return recorded(DeleteGroupsRequest, handle)(None, DeleteGroupsRequest(groups_names=["g"]), said.context)


CHANGE = "change principal=User:alice host=10.0.0.7 api=DELETE_GROUPS resource=GROUP:g"
DONE = DeleteGroupsResponse(results=[DeletableGroupResult(group_id="g")])


async def later(*_: object) -> DeleteGroupsResponse:
    await asyncio.sleep(1)
    return DONE


@pytest.mark.parametrize("handle", [later, lambda *_: later(), lambda *_: DONE], ids=["async", "awaitable", "at once"])
def test_a_change_is_said_with_its_answer(play: Play, handle: Any) -> None:
    async def scene(said: Said) -> None:
        reply = delete_groups(said, handle)
        assert (reply if reply is DONE else await reply) is DONE

    assert play(scene) == [f"{CHANGE} answer=NONE detail=delete"]


def test_who_does_not_wait_for_the_answer_is_said_too(play: Play) -> None:
    async def scene(said: Said) -> None:
        asked = asyncio.ensure_future(delete_groups(said, later))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])

    assert play(scene) == [f"{CHANGE} answer=UNKNOWN detail=delete"]


@pytest.mark.parametrize(
    "reply",
    [
        RawReply([b""]),
        DeleteGroupsResponse(results=[DeletableGroupResult(group_id="g", error_code=ErrorCode.NOT_COORDINATOR)]),
        DeleteGroupsResponse(
            results=[DeletableGroupResult(group_id="g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)]
        ),
    ],
    ids=["carried out elsewhere", "asked of the wrong node", "denied"],
)
def test_what_somebody_else_says_is_not_said_twice(play: Play, reply: Any) -> None:
    async def scene(said: Said) -> None:
        assert delete_groups(said, lambda *_: reply) is reply

    assert play(scene) == []


def test_what_nodes_get_done_is_said_and_what_they_only_try_is_not(play: Play) -> None:
    there = DeleteGroupsResponse(results=[DeletableGroupResult(group_id="g", error_code=ErrorCode.GROUP_ID_NOT_FOUND)])

    async def scene(said: Said) -> None:
        delete_groups(said, lambda *_: there)
        delete_groups(said, lambda *_: DONE)

    who = "change principal=Node:1 host=10.0.0.7"
    assert play(scene, NodePeer.of(NodeId(1))) == [
        f"{who} api=DELETE_GROUPS resource=GROUP:g answer=NONE detail=delete"
    ]


def test_each_change_is_said_in_the_order_in_which_they_were_made(play: Play) -> None:
    async def scene(said: Said) -> None:
        for _ in range(3):
            delete_groups(said, lambda *_: DONE)

    assert play(scene) == [f"{CHANGE} answer=NONE detail=delete"] * 3


def test_who_commits_all_day_is_said_once_a_minute(play: Play) -> None:
    async def scene(said: Said) -> None:
        commit = recorded(OffsetCommitRequest, lambda *_: OffsetCommitResponse())
        for _ in range(120):
            commit(None, OffsetCommitRequest(group_id="g"), said.context)
            await asyncio.sleep(1)

    lines = play(scene)
    assert len(lines) in (3, 4)
    assert lines[1].endswith("resource=GROUP:g answer=NONE detail=set_offsets repeated=59")


def test_refusals_do_not_hide_what_was_changed(play: Play) -> None:
    async def scene(said: Said) -> None:
        for number in range(1_000):
            said.context.denied(AclOperation.READ, AclResource.TOPIC, f"t{number}")
        delete_groups(said, lambda *_: DONE)

    assert play(scene)[-1].startswith(CHANGE)


def test_a_controller_says_who_changed_what(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> list[str]:
        said = Said(caplog)
        seed = random.Random(1)
        network = SimulatedNetwork(seed, Conditions())
        values = {
            "listeners": "CONTROLLER://c:9093",
            "controller.store": f"file:{tmp_path}",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:ANONYMOUS",
        }
        world = SimulatedWorld(network, "c", seed)
        app = ControllerApp(ControllerConfig.from_properties(Properties(values)), world)
        world.start(app.run())
        await app.ready.wait()
        client = await Client.connect(SimulatedWorld(network, "client", seed), "c", 9093, client_id="x")
        new, old = CreatableTopic(name="t", num_partitions=1, replication_factor=1), DeleteTopicState(name="no such")
        for request in (
            CreateTopicsRequest(topics=[new], validate_only=True),
            CreateTopicsRequest(topics=[new]),
            DeleteTopicsRequest(topics=[old], timeout_ms=1_000),
        ):
            await client.request(request, timeout_ms=10_000)
        return said.lines

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        lines = runner.run(body())
    who = "change principal=User:ANONYMOUS host=client"
    assert lines == [
        f"{who} api=CREATE_TOPICS resource=TOPIC:t answer=INVALID_REPLICATION_FACTOR "
        "detail=partitions=1,replication_factor=1",
        f"{who} api=DELETE_TOPICS resource='TOPIC:no such' answer=UNKNOWN_TOPIC_OR_PARTITION",
    ]


CHANGES_NOTHING_THAT_A_PERSON_DECIDES = {
    "ADD_OFFSETS_TO_TXN": "a producer's work",
    "ADD_PARTITIONS_TO_TXN": "a producer's work",
    "CONSUMER_GROUP_HEARTBEAT": "a member's work",
    "END_TXN": "a producer's work",
    "ENVELOPE": "what is inside is said",
    "HEARTBEAT": "a member's work",
    "INIT_PRODUCER_ID": "a producer's work; one that is fenced by hand asks as its own successor would",
    "JOIN_GROUP": "a member's work",
    "PRODUCE": "a producer's work",
    "PUSH_TELEMETRY": "what a client tells of itself",
    "SHARE_ACKNOWLEDGE": "a member's work",
    "SHARE_FETCH": "a member's work",
    "SHARE_GROUP_HEARTBEAT": "a member's work",
    "SYNC_GROUP": "a member's work",
    "TXN_OFFSET_COMMIT": "a producer's work",
}
READS = ("DESCRIBE_", "LIST_", "FETCH", "FIND_", "METADATA", "OFFSET_F", "API_VERSIONS", "GET_", "SASL_")
SERVICES = (millstream_broker.api, millstream_controller.api, millstream_coordinator.api)
FOR_NODES = {
    "ALLOCATE_PRODUCER_IDS",
    "ALTER_PARTITION",
    "ASSIGN_REPLICAS_TO_DIRS",
    "BROKER_HEARTBEAT",
    "BROKER_REGISTRATION",
    "CONSUMER_GROUP_DESCRIBE",
    "SHARE_GROUP_DESCRIBE",
    *(key.name for key in millstream_coordinator.api.UNADVERTISED),
}


def test_every_api_by_which_somebody_changes_something_is_said() -> None:
    """Nothing is served of which nobody thought whether it changes anything; and somebody says each change."""
    recorded_by = {
        key
        for service in SERVICES
        for key, handler in service.HANDLERS.items()
        if getattr(handler.handle, "__module__", "") == recorded.__module__
    }
    assert recorded_by == {*CHANGES}
    others = {key.name for service in SERVICES for key in service.HANDLERS} - {key.name for key in recorded_by}
    silent = {name for name in others if not name.startswith(READS)} - FOR_NODES
    assert silent == CHANGES_NOTHING_THAT_A_PERSON_DECIDES.keys()
