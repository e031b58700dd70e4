"""Whose offsets who may see and set: the group's and the topic's; a topic that is named by an id is asked for by its name."""

from collections.abc import Callable
from typing import Any

from millstream_cluster.acls import AclOperation, AclResource
from millstream_cluster.image import Image
from millstream_runtime.serving.context import RequestContext


def permits_topic(
    image: Image, context: RequestContext, operation: AclOperation, *, by_id: bool
) -> Callable[[Any], bool]:
    """Whether this may be done with a topic of a request. Ids are no secret: one of no topic is not refused."""

    def is_permitted(asked: Any) -> bool:
        name = asked.name
        if by_id:
            topic = image.topic(asked.topic_id)
            if topic is None:
                return True
            name = topic.name
        return context.may(operation, AclResource.TOPIC, name)

    return is_permitted
