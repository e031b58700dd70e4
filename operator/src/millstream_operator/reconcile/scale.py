"""More or fewer brokers: look at those that the cluster knows, and take the steps of a plan."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, assert_never

from millstream_operator.kafka import brokers
from millstream_operator.kafka.cluster import KafkaCluster
from millstream_operator.kube.events import Event
from millstream_operator.plan.partitions import PartitionStanding
from millstream_operator.plan.scale import (
    Cordon,
    ElectPreferred,
    Noted,
    Reassign,
    RegisteredBroker,
    Scale,
    Step,
    Throttle,
    Uncordon,
    Unregister,
    Unthrottle,
    View,
    Wanted,
)
from millstream_operator.plan.scope import Body
from millstream_operator.reconcile.resource import Surroundings, note_status, tell

logger = logging.getLogger(__name__)


def wanted_of(spec: Mapping[str, Any]) -> Wanted:
    asked = spec["brokers"].get("rebalance") or {}
    rate = asked.get("bytesPerSecond")
    return Wanted(
        brokers=int(spec["brokers"]["replicas"]),
        rebalances=bool(asked.get("enabled", True)),
        bytes_per_second=None if rate is None else int(rate),
    )


def noted_of(status: Mapping[str, Any]) -> Noted:
    found = status.get("scale") or {}
    return Noted(
        balanced=found.get("balancedBrokers"),
        cordoned=tuple(found.get("cordonedBrokers") or ()),
        throttled=tuple(found.get("throttledTopics") or ()),
        announced=found.get("announcedBrokers"),
    )


def scale_fields(noted: Noted, scale: Scale) -> dict[str, Any]:
    """As the status has it: what is remembered, and what is left to move."""
    fields: dict[str, Any] = {"balancedBrokers": noted.balanced, "cordonedBrokers": list(noted.cordoned)}
    fields["throttledTopics"] = list(noted.throttled)
    if noted.announced is not None:
        fields["announcedBrokers"] = noted.announced
    if scale.movement is not None:
        fields["toMove"] = {"partitions": scale.movement.partitions, "bytes": scale.movement.bytes}
        if scale.movement.seconds is not None:
            fields["toMove"]["seconds"] = scale.movement.seconds
    return fields


async def view_of(
    kafka: KafkaCluster,
    wanted: Wanted,
    pods: int,
    noted: Noted,
    partitions: Sequence[PartitionStanding],
    placed: frozenset[str],
) -> View:
    """Raises ClusterUnreachable, Refused. At rest nobody is asked but for who is there."""
    found = await brokers.registered(kafka)
    at_rest = wanted.brokers == pods and noted.balanced in (None, pods) and not noted.cordoned
    if at_rest:
        known = {node: RegisteredBroker(each.rack, is_live=not each.is_fenced) for node, each in found.items()}
        return View(known, partitions, {})
    return View(await brokers.described(kafka, found), partitions, await brokers.sizes(kafka, found), placed)


async def carry_out(
    around: Surroundings, kind: str, body: Body, connect: Callable[[Body], Awaitable[KafkaCluster]], scale: Scale
) -> Body:
    """Note what the steps need to be known by, take them, and the resource as it is then. Raises ClusterUnreachable, Refused."""
    if scale.noted != noted_of(body.get("status") or {}):
        body = await note_status(around, kind, body, {"scale": scale_fields(scale.noted, scale)})
    for step in scale.steps:
        await brokers.perform(await connect(body), step)
        logger.info("scale step cluster=%s step=%s", body["metadata"]["name"], step)
        event = _event(step)
        if event is not None:
            await tell(around, kind, body, event)
    return body


def _event(step: Step) -> Event | None:
    match step:
        case Cordon():
            return Event("BrokerCordoned", f"broker {step.broker} gets no new replicas")
        case Uncordon():
            return Event("BrokerUncordoned", f"broker {step.broker} may be given replicas")
        case Reassign():
            return Event(
                "ReplicasMoved", f"{len(step.replicas)} partitions are given other replicas, or another order of them"
            )
        case Unregister():
            return Event(
                "BrokerForgotten", f"broker {step.broker} is gone and holds nothing: the cluster has forgotten it"
            )
        case ElectPreferred() | Throttle() | Unthrottle():
            return None
        case _:
            assert_never(step)
