"""Metadata (3), versions 0 to 13, of the metadata log alone, so that any Kafka client can read it from a controller.

The one node it names is the active controller. Topics of the cluster are the brokers' to describe: here they do not exist.
"""

from millstream_cluster.ids import METADATA_TOPIC, METADATA_TOPIC_ID
from millstream_cluster.records import ControllerElected
from millstream_controller.shell.controller import Controller
from millstream_runtime.serving.context import RequestContext
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import MetadataRequest, MetadataResponse
from millstream_wire.messages.metadata import (
    MetadataRequestTopic,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream_wire.schema import ZERO_UUID


def handle_metadata(controller: Controller, request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    elected = controller.elected
    if elected is None:
        return MetadataResponse(error_code=ErrorCode.NOT_CONTROLLER)
    active = controller.find_believed()
    everything = request.topics is None or (context.version == 0 and not request.topics)
    wanted = [MetadataRequestTopic(name=METADATA_TOPIC)] if everything else request.topics or []
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=elected.controller_id, host=elected.host, port=elected.port)],
        cluster_id=active.log.image.cluster_id if active is not None else None,
        controller_id=elected.controller_id,
        topics=[_topic(each, elected) for each in wanted],
    )


def _topic(wanted: MetadataRequestTopic, elected: ControllerElected) -> MetadataResponseTopic:
    by_id = wanted.topic_id != ZERO_UUID
    if (wanted.topic_id != METADATA_TOPIC_ID) if by_id else (wanted.name != METADATA_TOPIC):
        error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return MetadataResponseTopic(error_code=error, name=wanted.name, topic_id=wanted.topic_id)
    partition = MetadataResponsePartition(
        partition_index=0,
        leader_id=elected.controller_id,
        leader_epoch=elected.epoch,
        replica_nodes=[elected.controller_id],
        isr_nodes=[elected.controller_id],
    )
    return MetadataResponseTopic(
        name=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, is_internal=True, partitions=[partition]
    )
