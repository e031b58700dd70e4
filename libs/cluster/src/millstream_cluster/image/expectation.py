"""How a part of the Image refuses a record that does not fit what came before it."""

from millstream_cluster.errors import ImageError
from millstream_cluster.records import MetadataRecord


def expect(holds: bool, record: MetadataRecord, otherwise: str) -> None:
    if not holds:
        raise ImageError(f"{record}: {otherwise}")
