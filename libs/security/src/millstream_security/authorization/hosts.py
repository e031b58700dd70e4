"""Whether an ACL's host is where somebody comes from: `*`, that address in whatever notation, or a range (`10.0.0.0/8`).

Ranges are ours: Kafka stores them and matches nobody. Names of hosts match nobody here either.
"""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from millstream_cluster.acls import WILDCARD

_HOSTS_REMEMBERED = 4096


def is_from(host: str, rule: str) -> bool:
    """`host` is the address of a connection, `rule` what an ACL says."""
    if rule in (WILDCARD, host):
        return True
    network, address = _network(rule), _address(host)
    return network is not None and address is not None and address in network


@lru_cache(_HOSTS_REMEMBERED)
def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


@lru_cache(_HOSTS_REMEMBERED)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
