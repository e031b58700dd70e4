"""Client quotas by whom they are for."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from millstream_cluster import records as r


class QuotasImage:
    """Invariant: an entity is here only while at least one of its quotas is set."""

    def __init__(self) -> None:
        self._quotas: dict[tuple[r.QuotaEntity, ...], dict[str, float]] = {}
        self.by_entity: Mapping[tuple[r.QuotaEntity, ...], Mapping[str, float]] = MappingProxyType(self._quotas)

    def records(self) -> Iterator[r.MetadataRecord]:
        for entity, quotas in self._quotas.items():
            yield from (r.ClientQuotaChanged(entity, key, value) for key, value in quotas.items())

    def apply(self, record: r.ClientQuotaChanged) -> None:
        quotas = self._quotas.setdefault(record.entity, {})
        if record.value is None:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if not quotas:
            del self._quotas[record.entity]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuotasImage) and self._quotas == other._quotas

    __hash__ = None  # type: ignore[assignment]
