"""Addresses of clients: one text for each, however it was written."""

from ipaddress import IPv6Address, ip_address


def canonical(text: str) -> str | None:
    """An IPv4 address as such, whatever the socket; None if it is no address."""
    try:
        address = ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def numbers_of(text: str) -> dict[str, int]:
    """What `address:number,...` says; ValueError if it says nothing."""
    numbers = {}
    for item in filter(None, map(str.strip, text.split(","))):
        written, _, number = item.rpartition(":")
        address = canonical(written)
        if address is None or not number.isdigit():
            raise ValueError(f"must be address:number,..., not {item!r}")
        numbers[address] = int(number)
    return numbers
