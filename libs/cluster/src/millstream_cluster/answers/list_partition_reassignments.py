"""ListPartitionReassignments (API key 46), version 0, from an Image: partitions whose replicas are on the move."""

from collections.abc import Iterator

from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_wire.messages import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse
from millstream_wire.messages.list_partition_reassignments import OngoingPartitionReassignment, OngoingTopicReassignment


def list_partition_reassignments(
    image: Image, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Of the named partitions, or of all; what is not on the move, or not there, is not named in the answer."""
    found: dict[str, list[OngoingPartitionReassignment]] = {}
    for partition in _asked(image, request):
        if partition.adding_replicas or partition.removing_replicas:
            found.setdefault(partition.topic, []).append(
                OngoingPartitionReassignment(
                    partition_index=partition.partition,
                    replicas=list(partition.replicas),
                    adding_replicas=list(partition.adding_replicas),
                    removing_replicas=list(partition.removing_replicas),
                )
            )
    topics = [OngoingTopicReassignment(name=name, partitions=partitions) for name, partitions in found.items()]
    return ListPartitionReassignmentsResponse(topics=topics)


def _asked(image: Image, request: ListPartitionReassignmentsRequest) -> Iterator[Partition]:
    if request.topics is None:
        yield from image.partitions()
        return
    for topic in request.topics:
        for index in topic.partition_indexes:
            partition = image.partition(topic.name, index)
            if partition is not None:
                yield partition
