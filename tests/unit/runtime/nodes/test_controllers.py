"""Which controller a node asks: whom it is named in the highest epoch that it can reach."""

import asyncio

import pytest

from millstream_runtime.nodes.controllers import ControllerLink, ControllerUnavailable, KnownControllers
from millstream_runtime.serving.handlers import serve
from millstream_runtime.serving.server import Server
from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    MetadataRequest,
    MetadataResponse,
)
from millstream_wire.messages.metadata import (
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

PORT = 9093
A, B, C = ("a", PORT), ("b", PORT), ("c", PORT)


def test_a_higher_epoch_is_turned_to_and_a_lower_one_is_not() -> None:
    known = KnownControllers([A, B, C])
    assert known.address == A
    known.saw(3, B)
    assert (known.epoch, known.address) == (3, B)
    known.saw(2, C)
    assert (known.epoch, known.address) == (3, B)
    known.saw(4)
    assert (known.epoch, known.address) == (4, B), "nobody said where it is"
    known.saw(4, C)
    assert known.address == B, "it was not said that this one is not it"
    known.turn_from(B)
    known.saw(4, C)
    assert known.address == C


def test_those_who_refuse_are_turned_from_in_turn() -> None:
    known = KnownControllers([A, B])
    known.turn_from(A)
    assert known.address == B
    known.turn_from(A)
    assert known.address == B, "another link has turned from it already"
    known.turn_from(B)
    assert known.address == A


class Controller:
    """Answers whether it is the active one, and names whom it takes for that."""

    def __init__(self, *, active: bool = False, named: tuple[tuple[str, int], int] | None = None) -> None:
        self.active = active
        self.named = named
        self.asked = 0


def allocate(app: Controller, request, context) -> AllocateProducerIdsResponse:
    app.asked += 1
    return AllocateProducerIdsResponse(error_code=ErrorCode.NONE if app.active else ErrorCode.NOT_CONTROLLER)


def metadata(app: Controller, request, context) -> MetadataResponse:
    if app.named is None:
        return MetadataResponse(error_code=ErrorCode.NOT_CONTROLLER)
    (host, port), epoch = app.named
    partition = MetadataResponsePartition(partition_index=0, leader_id=20_000, leader_epoch=epoch)
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=20_000, host=host, port=port)],
        topics=[MetadataResponseTopic(name=request.topics[0].name, partitions=[partition])],
    )


async def start(hosts, **controllers: Controller) -> list[tuple[str, int]]:
    for name, controller in controllers.items():
        handlers = {
            ApiKey.ALLOCATE_PRODUCER_IDS: serve(AllocateProducerIdsRequest, allocate),
            ApiKey.METADATA: serve(MetadataRequest, metadata),
        }
        await Server(name, handlers, controller, hosts.world(name)).listen(name, PORT)
    return [(name, PORT) for name in controllers]


def link_of(hosts, addresses) -> ControllerLink:
    return ControllerLink(hosts.world("node"), addresses, client_id="node")


async def ask(link: ControllerLink, timeout_ms: int = 20_000) -> None:
    await link.request(AllocateProducerIdsRequest(broker_id=1), timeout_ms=timeout_ms)


def test_of_several_that_are_named_the_highest_epoch_is_asked(simulated_hosts) -> None:
    """A standby that has not heard of the election yet still names the deposed one."""

    async def scenario() -> None:
        deposed, late, active = Controller(), Controller(named=(A, 1)), Controller(active=True, named=(C, 2))
        link = link_of(simulated_hosts, await start(simulated_hosts, a=deposed, b=late, c=active))
        await ask(link)
        assert (deposed.asked, late.asked, active.asked) == (1, 0, 1)
        assert (link.known.epoch, link.known.address) == (2, C)
        await ask(link.another())
        assert (deposed.asked, active.asked) == (1, 2), "what one link learned the others know"

    simulated_hosts.run(scenario())


def test_one_that_was_named_and_refuses_does_not_keep_a_node_from_the_others(simulated_hosts) -> None:
    async def scenario() -> None:
        aside, standby, active = Controller(), Controller(named=(A, 1)), Controller(active=True)
        link = link_of(simulated_hosts, await start(simulated_hosts, a=aside, b=standby, c=active))
        with pytest.raises(ControllerUnavailable):
            await ask(link, timeout_ms=3_000)
        standby.named = (C, 2)
        await ask(link)
        assert active.asked == 1

    simulated_hosts.run(scenario())


def test_one_that_does_not_answer_is_left_for_the_one_that_was_elected(simulated_hosts) -> None:
    async def scenario() -> None:
        old, new = Controller(active=True, named=(A, 1)), Controller(active=True, named=(B, 2))
        link = link_of(simulated_hosts, await start(simulated_hosts, a=old, b=new))
        await ask(link)
        simulated_hosts.network.cut("node", "a")
        began = asyncio.get_running_loop().time()
        await ask(link)
        assert (old.asked, new.asked) == (1, 1)
        assert asyncio.get_running_loop().time() - began < 10

    simulated_hosts.run(scenario())
