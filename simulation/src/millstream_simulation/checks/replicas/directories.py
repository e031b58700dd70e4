"""No replica in a data directory that its broker cannot use is in the ISR of several: it could neither lead nor follow."""

from millstream_cluster import records as r
from millstream_cluster.ids import UNASSIGNED_DIRECTORY
from millstream_cluster.image import Image
from millstream_cluster.members import Partition
from millstream_simulation.story import Violation


def expect_usable(image: Image, record: r.MetadataRecord) -> None:
    """`record` is new in the committed log, and `image` is from before it."""
    match record:
        case r.PartitionChanged() if len(record.replicas) > 1:
            before = image.partition(record.topic_id, record.partition)
            assert before is not None, "what is changed is there"
            for node_id, directory in zip(record.replicas, record.directories, strict=False):
                node = image.node(node_id)
                if node_id in record.isr and node is not None and not node.has_directory(directory):
                    raise _unusable(before, node_id)
        case r.NodeLogDirsChanged():
            usable = (UNASSIGNED_DIRECTORY, *record.log_dirs)
            for partition in image.partitions():
                is_relied_on = record.node_id in partition.isr and len(partition.replicas) > 1
                if is_relied_on and partition.directory_of(record.node_id) not in usable:
                    raise _unusable(partition, record.node_id)
        case _:
            pass


def _unusable(partition: Partition, node_id: int) -> Violation:
    name = f"{partition.topic}-{partition.partition}"
    return Violation(f"{name}: broker {node_id} is in sync, and its copy is in a directory that has failed")
