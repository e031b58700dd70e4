"""What follows for partitions where min.insync.replicas changes: with fewer needed, others than the eligible may commit.

Leaders and controller have to mean the same number, or a replica would be eligible that lacks what was committed without it. So
it is a topic's or the whole cluster's, never one broker's, and what a controller's properties say of it becomes the cluster's.
"""

from collections.abc import Iterator, Sequence

from millstream_cluster import records as r
from millstream_cluster.coordinator_topics import MIN_ISR
from millstream_cluster.metadata_version import MetadataVersion
from millstream_cluster.records import ResourceType
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.leadership import changes
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode


def changed_with(machine: ControllerMachine, configs: Sequence[r.ConfigChanged]) -> Iterator[r.PartitionChanged]:
    """The partitions whose ELR is another with these configs; they come first, so that nobody commits beside the old one."""
    own: dict[str, str | None] = {}
    default: str | None = None
    for config in configs:
        if config.key == MIN_ISR and config.resource_type is ResourceType.TOPIC:
            own[config.resource_name] = config.value
        if config.key == MIN_ISR and (config.resource_type, config.resource_name) == (ResourceType.BROKER, ""):
            default = config.value
    if not own and default is None:
        return
    electorate = Electorate(machine)
    for topic in machine.image.topics.values():
        before = machine.image.config(ResourceType.TOPIC, topic.name).get(MIN_ISR)
        value = own.get(topic.name, before)
        if value is None:
            value = default
        if value is None:
            electorate.set_min_isr(topic.name, electorate.default_min_isr)
        else:
            electorate.set_min_isr(topic.name, int(value))
        unsettled = (each for each in topic.partitions if each.eligible_leader_replicas or each.last_known_elr)
        yield from changes(unsettled, electorate)


def check_least_isr(machine: ControllerMachine, broker: str, value: str | None) -> None:
    """Refuse what would let one broker's leaders mean another number, in Kafka's words."""
    if machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
        return
    if broker:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled.")
    if value is None:
        raise Refused(ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled.")


def settled_least_isr(machine: ControllerMachine) -> tuple[r.ConfigChanged, ...]:
    """What makes the number the cluster's, where an older release or a controller's properties have set it otherwise."""
    image = machine.image
    if image.metadata_version < MetadataVersion.RELEASE_0_2:
        return ()
    brokers = (name for name in image.config_names(ResourceType.BROKER) if name)
    single = (name for name in brokers if MIN_ISR in image.config(ResourceType.BROKER, name))
    settled = [r.ConfigChanged(ResourceType.BROKER, name, MIN_ISR, None) for name in sorted(single)]
    static = machine.settings.static.get(MIN_ISR)
    if static is not None and MIN_ISR not in image.config(ResourceType.BROKER, ""):
        settled.append(r.ConfigChanged(ResourceType.BROKER, "", MIN_ISR, static))
    return tuple(settled)
