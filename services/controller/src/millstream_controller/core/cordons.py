"""Brokers that get no new replicas because all their log directories are cordoned (KIP-1066): what they have stays.

A cordon is a dynamic config. What a broker has in its own properties the controller does not know.
"""

from millstream_cluster.configs import BROKER_CONFIGS
from millstream_cluster.image import Image
from millstream_cluster.members import Node
from millstream_cluster.records import ResourceType

CORDONED_LOG_DIRS = "cordoned.log.dirs"
ALL = "*"


class Cordons:
    """Looked at for every broker whenever something is placed: nearly always there is none."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._default = image.config(ResourceType.BROKER, "").get(CORDONED_LOG_DIRS)

    def closed(self, broker: Node) -> bool:
        """Whether the broker has no directory left for new replicas.

        It is named by paths, which only the broker knows: as many names as it has directories are all of them.
        """
        own = self._image.config(ResourceType.BROKER, str(broker.node_id)).get(CORDONED_LOG_DIRS)
        text = self._default if own is None else own
        if not text:
            return False
        named = BROKER_CONFIGS[CORDONED_LOG_DIRS].parse(text)
        assert isinstance(named, tuple)
        return ALL in named or len(set(named)) >= max(len(broker.log_dirs), 1)
