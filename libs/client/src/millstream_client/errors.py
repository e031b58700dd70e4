"""What can go wrong between a client and its cluster."""

from millstream_wire.errors import ErrorCode


class KafkaError(Exception):
    """Root of everything that this client raises of its own."""


class Unreachable(KafkaError):
    """No node answered; whether a request was executed is unknown."""


class NotLetIn(Unreachable):
    """The server does not take our credentials, or we do not believe that it is ours."""


class Closed(KafkaError):
    """Used after `close`."""


class Expired(KafkaError):
    """A record was not acknowledged within its delivery timeout; it may or may not be in the log."""


class InvalidData(KafkaError):
    """A key, value or batch that is not what it was said to be."""


class Refused(KafkaError):
    """The cluster's answer was an error; carries Kafka's code."""

    def __init__(self, code: int, message: str | None = None, *, subject: str = "") -> None:
        self.code = code_of(code)
        prefix = f"{subject}: " if subject else ""
        super().__init__(prefix + (f"{self.code.name}: {message}" if message else self.code.name))


def code_of(code: int) -> ErrorCode:
    """Kafka's name for a code; a code newer than we are is an unknown server error."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def check(code: int, message: str | None = None, *, subject: str = "") -> None:
    if code != ErrorCode.NONE:
        raise Refused(code, message, subject=subject)
