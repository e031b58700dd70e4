"""From the topics of now to a new target: what the members' subscriptions mean, whether that changed, who should have what."""

from collections.abc import Callable

from millstream_cluster.image import Image
from millstream_coordinator.core.consumer.draft import ConsumerDraft
from millstream_coordinator.core.consumer.records import RegexStored, ResolvedRegex, TargetEpochStored, TargetStored
from millstream_coordinator.core.consumer.regex import RegexError, TopicPattern
from millstream_coordinator.core.group.assignors import ASSIGNORS, DEFAULT_ASSIGNOR, Subscriber
from millstream_coordinator.core.group.epochs import TargetEpoch
from millstream_coordinator.core.group.heartbeats import Refused
from millstream_coordinator.core.group.policy import OPEN_POLICY, GroupPolicy
from millstream_coordinator.core.group.subscriptions import existing
from millstream_wire.errors import ErrorCode


def resolve_regexes(
    draft: ConsumerDraft, image: Image, now_ms: int, *, again: bool, may_see: Callable[[str], bool] | None = None
) -> None:
    """Resolve what is not resolved yet, or everything `again`; forget expressions that nobody uses any more.

    Whoever has it resolved gives its eyes to the group, as in Kafka: what `may_see` does not show it is not matched.
    """
    used = {member.regex for member in draft.group.members.values() if member.regex is not None}
    for regex in draft.group.regexes.keys() - used:
        draft.write(RegexStored(draft.group.group_id, regex, None))
    for regex in sorted(used):
        known = draft.group.regexes.get(regex)
        if known is None or again:
            try:
                topics = _matching(regex, image, may_see)
            except RegexError as error:
                if known is None:
                    raise _refused(regex, error) from None
                continue  # it was affordable with fewer topics: it stays as it was, and so do the others' heartbeats
            if known is None or known.topics != topics:
                resolved = ResolvedRegex(topics, max(image.offset, 0), now_ms)
                draft.write(RegexStored(draft.group.group_id, regex, resolved))


def check_regex(regex: str) -> None:
    """Refuse an expression that cannot be understood."""
    try:
        TopicPattern(regex)
    except RegexError as error:
        raise _refused(regex, error) from None


def make_target(draft: ConsumerDraft, image: Image, now_ms: int, policy: GroupPolicy = OPEN_POLICY) -> None:
    """Assign anew for the group's epoch; only what changes for a member is written."""
    group = draft.group
    subscribers = {
        member_id: Subscriber(
            frozenset(topic.topic_id for topic in existing(group.topics_of(member), image, policy)),
            member.instance_id,
            group.target(member_id),
        )
        for member_id, member in group.members.items()
    }
    subscribed = () if policy.withholds else group.subscribed_topics()
    topics = {topic.topic_id: len(topic.partitions) for topic in existing(subscribed, image, policy)}
    assign = ASSIGNORS[group.assignor(DEFAULT_ASSIGNOR)]
    for member_id, partitions in assign(subscribers, topics).items():
        if group.targets.get(member_id) != partitions:
            draft.write(TargetStored(group.group_id, member_id, partitions))
    draft.write(TargetEpochStored(group.group_id, TargetEpoch(group.epoch, now_ms)))


def _matching(regex: str, image: Image, may_see: Callable[[str], bool] | None) -> tuple[str, ...]:
    """The topics that match, internal ones too, as in Kafka: clients leave those out themselves where they care."""
    return TopicPattern(regex).matching(image.topics if may_see is None else filter(may_see, image.topics))


def _refused(regex: str, error: RegexError) -> Refused:
    message = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}."
    return Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, message)
