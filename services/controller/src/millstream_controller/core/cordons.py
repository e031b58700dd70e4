"""Brokers that get no new replicas because all their log directories are cordoned (KIP-1066): what they have stays.

A cordon is a dynamic config. What a broker has in its own properties the controller does not know.
"""

from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.image import Image
from millstream_cluster.members import Node

CORDONED_LOG_DIRS = "cordoned.log.dirs"
ALL = "*"


class Cordons:
    def __init__(self, image: Image) -> None:
        self._image = image

    def closed(self, broker: Node) -> bool:
        """Whether the broker has no directory left for new replicas.

        It is named by paths, which only the broker knows: as many names as it has directories are all of them.
        """
        value = EffectiveConfigs(self._image, {}, broker.node_id).broker_value(CORDONED_LOG_DIRS)
        assert isinstance(value, tuple)
        return ALL in value or len(set(value)) >= max(len(broker.log_dirs), 1)
