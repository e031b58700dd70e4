"""ACLs by their ids, and the ids by what they say: no two say the same."""

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.acls import Acl
from millstream_cluster.image.expectation import expect

CHANGES_KEPT = 1_024


class AclsImage:
    """Invariant: `by_id` and `ids` are each other's inverse."""

    def __init__(self) -> None:
        self._by_id: dict[UUID, Acl] = {}
        self._ids: dict[Acl, UUID] = {}
        self.by_id: Mapping[UUID, Acl] = MappingProxyType(self._by_id)
        self.ids: Mapping[Acl, UUID] = MappingProxyType(self._ids)
        self.changes = 0
        """Counts up with every change, so that who remembers answers can tell that they may be old."""
        self._newest: deque[tuple[Acl, bool]] = deque(maxlen=CHANGES_KEPT)

    def since(self, changes: int) -> list[tuple[Acl, bool]] | None:
        """What has changed since there had been so many changes, True for an ACL that came; None if that is too long ago."""
        missing = self.changes - changes
        if missing > len(self._newest):
            return None
        return list(islice(self._newest, len(self._newest) - missing, None))

    def records(self) -> Iterator[r.MetadataRecord]:
        for acl_id, acl in self._by_id.items():
            yield r.AclAdded.of(acl_id, acl)

    def apply(self, record: r.AclAdded | r.AclRemoved) -> None:
        if isinstance(record, r.AclAdded):
            acl = record.acl
            expect(record.acl_id not in self._by_id and acl not in self._ids, record, "it is there")
            self._by_id[record.acl_id] = acl
            self._ids[acl] = record.acl_id
            self._newest.append((acl, True))
        else:
            expect(record.acl_id in self._by_id, record, "it is not there")
            acl = self._by_id.pop(record.acl_id)
            del self._ids[acl]
            self._newest.append((acl, False))
        self.changes += 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AclsImage) and self._by_id == other._by_id

    __hash__ = None  # type: ignore[assignment]
