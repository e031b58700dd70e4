"""Where nodes are: `host:port`, or several of them, as people write them."""

from millstream_client.errors import InvalidData

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_PORT = 9092

Address = tuple[str, int]


def parse_bootstrap(text: str) -> list[Address]:
    found = [_parse(part.strip()) for part in text.split(",") if part.strip()]
    if not found:
        raise InvalidData(f"no address in {text!r}")
    return found


def _parse(text: str) -> Address:
    """A name or IPv4 address with or without a port; an IPv6 address in brackets."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or rest[:1] not in ("", ":"):
            raise InvalidData(f"no address: {text!r}")
        port = rest[1:]
    else:
        host, _, port = text.partition(":")
    number = int(port) if port.isascii() and port.isdecimal() else DEFAULT_PORT if not port else -1
    if not host or not 0 < number < 65536:
        raise InvalidData(f"no address: {text!r}")
    return host, number
