"""Client quotas: how much users, client ids and addresses may take."""

from collections.abc import Mapping, Sequence

from millstream_client.cluster import Cluster
from millstream_client.errors import check
from millstream_wire.late_dataclass import dataclass
from millstream_wire.messages.alter_client_quotas import AlterClientQuotasRequest, OpData, RequestEntryData
from millstream_wire.messages.alter_client_quotas import EntityData as AlteredEntity
from millstream_wire.messages.describe_client_quotas import DescribeClientQuotasRequest

Entity = Mapping[str, str | None]
"""By kind (user, client-id, ip) the name; None is the default of the kind."""


@dataclass(frozen=True, slots=True)
class Quota:
    entity: dict[str, str | None]
    values: dict[str, float]


async def list_quotas(cluster: Cluster) -> list[Quota]:
    """All of them."""
    answer = await cluster.ask_any(DescribeClientQuotasRequest(components=[], strict=False))
    check(answer.error_code, answer.error_message, subject="quotas")
    found = [
        Quota(
            {each.entity_type: each.entity_name for each in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in answer.entries or ()
    ]
    return sorted(found, key=lambda quota: sorted((kind, name or "") for kind, name in quota.entity.items()))


async def alter_quotas(
    cluster: Cluster, entity: Entity, *, changed: Mapping[str, float] | None = None, deleted: Sequence[str] = ()
) -> None:
    operations = [OpData(key=key, value=value) for key, value in (changed or {}).items()]
    operations += [OpData(key=key, remove=True) for key in deleted]
    named = [AlteredEntity(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    entry = RequestEntryData(entity=named, ops=operations)
    answer = await cluster.ask_any(AlterClientQuotasRequest(entries=[entry]))
    for each in answer.entries:
        check(each.error_code, each.error_message, subject="quotas")
