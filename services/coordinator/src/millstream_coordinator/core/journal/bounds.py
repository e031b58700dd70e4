"""What one command may write, and what its strings may be: each command goes to the log as one batch."""

from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

COMMAND_BYTES_MAX = 900_000
"""What one command may add to the log: it goes there as one batch, which the broker takes up to max.message.bytes."""
STRING_BYTES_MAX = 32_767
"""What the format has room for; requests have room for more."""


def fits(text: str | None) -> bool:
    """Whether the format can hold this string."""
    return text is None or len(text) * 4 <= STRING_BYTES_MAX or len(text.encode()) <= STRING_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Removal:
    """How a removal in steps went: `more` says that it has to be called again."""

    error: ErrorCode = ErrorCode.NONE
    more: bool = False
