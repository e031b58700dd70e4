"""What the topics that members subscribe to by name are in the cluster's metadata of now."""

import hashlib
from collections.abc import Iterable, Iterator

from millstream_cluster.image import Image
from millstream_cluster.members import Topic
from millstream_coordinator.core.group.policy import GroupPolicy


def metadata_hash(subscribed: Iterable[str], image: Image, policy: GroupPolicy) -> int:
    """A number that stands for the subscribed topics that exist and for how many partitions each of them has.

    It is the same on every coordinator. It changes when a topic comes, goes or grows, and when the group's policy gives its
    members other topics than before; a group whose hash changed needs a new assignment.
    """
    digest = hashlib.blake2b(digest_size=8)
    if policy.withholds:
        digest.update(b"withheld;")
    for topic in existing(sorted(subscribed), image, policy):
        digest.update(f"{topic.name}:{topic.topic_id}:{len(topic.partitions)};".encode())
    return int.from_bytes(digest.digest(), "big", signed=True)


def existing(names: Iterable[str], image: Image, policy: GroupPolicy) -> Iterator[Topic]:
    """The topics of these names that exist and that the group's policy allows, in the order of the names."""
    for name in names:
        topic = image.topic(name) if policy.allows(name) else None
        if topic is not None:
            yield topic
