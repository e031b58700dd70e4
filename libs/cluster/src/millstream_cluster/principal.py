"""Principals: the names in which clients act, as Kafka writes them (`User:alice`)."""

from millstream_wire.late_dataclass import dataclass

USER = "User"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. Credentials decide it, never what a request says of itself."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")
"""Everybody on a listener without credentials."""
