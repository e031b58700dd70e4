"""What a share group's configuration means to the brokers that its members fetch from."""

from collections.abc import Mapping

from millstream_broker.core.share.partition import ShareLimits
from millstream_cluster.configs import EffectiveConfigs, Value
from millstream_cluster.image import Image
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ShareSettings:
    limits: ShareLimits
    read_committed: bool
    """share.isolation.level"""
    offset_reset: str
    """share.auto.offset.reset"""
    may_renew: bool
    """share.renew.acknowledge.enable"""

    @staticmethod
    def of(image: Image, static: Mapping[str, str], node_id: int, group_id: str) -> "ShareSettings":
        entries = EffectiveConfigs(image, static, node_id).group(group_id)

        def value(name: str) -> Value:
            return entries[name].value

        return ShareSettings(
            limits=ShareLimits(
                lock_ms=_number(value("share.record.lock.duration.ms")),
                deliveries_max=_number(value("share.delivery.count.limit")),
                records_max=_number(value("share.partition.max.record.locks")),
            ),
            read_committed=value("share.isolation.level") == "read_committed",
            offset_reset=str(value("share.auto.offset.reset")),
            may_renew=bool(value("share.renew.acknowledge.enable")),
        )


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
