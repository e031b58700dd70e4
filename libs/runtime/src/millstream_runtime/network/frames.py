"""What channels carry: the parts of a frame that is sent, and a frame as it arrives."""

from collections.abc import Callable
from typing import Protocol


class FileSlice(Protocol):
    """A piece of a file that goes to the socket by sendfile; it stays readable until `release`."""

    @property
    def position(self) -> int: ...
    def __len__(self) -> int: ...
    def fileno(self) -> int: ...
    def read(self) -> bytes: ...
    def read_resident(self) -> bytes | bytearray | None:
        """All of it, or None where reading would wait for the disk."""

    def is_resident(self, position: int) -> bool:
        """Whether the file's byte at `position` can be sent without waiting for the disk."""

    def loading(self, position: int, length: int) -> Callable[[], None]:
        """Work for a thread: brings that part of the file into memory. It holds after `release` too."""

    def release(self) -> None: ...


Part = bytes | bytearray | memoryview | FileSlice

Frame = bytes | memoryview
"""What has arrived. A view is valid only during the call that hands it over; a small frame comes as bytes, which are cheaper to look into."""
