"""From the topics of now to a new target: what the members' subscriptions mean, whether that changed, who should read what."""

from collections.abc import Iterator
from uuid import UUID

from millstream_cluster.image import Image
from millstream_cluster.members import Topic
from millstream_coordinator.core.group.assignors import Subscriber
from millstream_coordinator.core.group.epochs import TargetEpoch
from millstream_coordinator.core.group.partitions import TopicIdPartition
from millstream_coordinator.core.group.policy import GroupPolicy
from millstream_coordinator.core.group.subscriptions import existing
from millstream_coordinator.core.share.assignor import assign_shared
from millstream_coordinator.core.share.draft import ShareDraft
from millstream_coordinator.core.share.group import ShareGroup
from millstream_coordinator.core.share.records import ShareTargetEpochStored, ShareTargetStored


def begin_state(draft: ShareDraft, image: Image, policy: GroupPolicy) -> None:
    """Have the state begun of every partition that members ask for and that has none yet."""
    group = draft.group
    names: dict[UUID, str] = {}
    new: list[TopicIdPartition] = []
    for topic in _subscribed(group, image, policy):
        if topic.topic_id in group.kept.deleting:
            continue  # once that is done
        names[topic.topic_id] = topic.name
        new += (
            (topic.topic_id, number)
            for number in range(len(topic.partitions))
            if (topic.topic_id, number) not in group.kept.initialized
        )
    if new:
        draft.keep(group.kept.begin(new, names))


def make_target(draft: ShareDraft, image: Image, now_ms: int, policy: GroupPolicy) -> None:
    """Work out who should read what in the group's epoch."""
    group = draft.group
    members = {
        member_id: Subscriber(
            frozenset(topic.topic_id for topic in existing(member.topics, image, policy)),
            target=group.target(member_id),
        )
        for member_id, member in group.members.items()
    }
    readable = frozenset(each for each in group.kept.initialized if image.partition(*each) is not None)
    for member_id, target in assign_shared(members, frozenset() if policy.withholds else readable).items():
        if group.targets.get(member_id) != target:
            draft.write(ShareTargetStored(group.group_id, member_id, target))
    draft.write(ShareTargetEpochStored(group.group_id, TargetEpoch(group.epoch, now_ms)))


def _subscribed(group: ShareGroup, image: Image, policy: GroupPolicy) -> Iterator[Topic]:
    return existing(sorted(group.subscribed_topics()), image, policy)
