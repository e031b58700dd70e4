"""What stands before the requests of a connection whose listener asks for a login. Connections of plain listeners have none."""

from abc import ABC, abstractmethod

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Gate(ABC):
    """A class to inherit from, as a channel is: an open one is looked at for every frame, and asked only about logins."""

    def __init__(self) -> None:
        self.is_open = False
        """Whether ordinary requests go through unseen."""

    @abstractmethod
    def takes(self, frame: bytes) -> bool:
        """Whether the frame is dealt with here; else it is an ordinary request."""

    @abstractmethod
    def on_closed(self) -> None:
        """The connection is gone."""
