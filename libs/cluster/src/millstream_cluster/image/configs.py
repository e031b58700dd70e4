"""Dynamic configurations: what somebody set for a resource, nothing inherited."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from millstream_cluster import records as r

_NONE: Mapping[str, str] = MappingProxyType({})


class ConfigsImage:
    """Invariant: a resource is here only while at least one of its keys is set."""

    def __init__(self) -> None:
        self._values: dict[tuple[r.ResourceType, str], dict[str, str]] = {}

    def of(self, resource_type: r.ResourceType, name: str) -> Mapping[str, str]:
        found = self._values.get((resource_type, name))
        return _NONE if found is None else MappingProxyType(found)

    def names(self, resource_type: r.ResourceType) -> list[str]:
        return [name for kind, name in self._values if kind is resource_type]

    def records(self) -> Iterator[r.MetadataRecord]:
        for (kind, name), values in self._values.items():
            yield from (r.ConfigChanged(kind, name, key, value) for key, value in values.items())

    def apply(self, record: r.ConfigChanged) -> None:
        resource = (record.resource_type, record.resource_name)
        values = self._values.setdefault(resource, {})
        if record.value is None:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
        if not values:
            del self._values[resource]

    def forget(self, resource_type: r.ResourceType, name: str) -> None:
        self._values.pop((resource_type, name), None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigsImage) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]
