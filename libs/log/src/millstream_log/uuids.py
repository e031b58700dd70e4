"""UUIDs as Kafka writes them into files: URL-safe base64 without padding."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID


def format_uuid(value: UUID) -> str:
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def parse_uuid(text: str) -> UUID:
    """Raises ValueError for anything that is not a UUID in this form."""
    return UUID(bytes=urlsafe_b64decode(text + "=" * (-len(text) % 4)))
