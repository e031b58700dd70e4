"""How topics are kept in a cluster that is started with so many brokers, unless somebody says otherwise."""

from millstream_cluster.coordinator_topics import FACTORS

REPLICAS = 3


def replication_of(brokers: int) -> dict[str, str]:
    """Of three brokers one may be away, and nothing stops or is lost; the same for any larger number.

    The coordinators' topics wait for that many brokers, or whoever is first would keep the only copy.
    """
    factor = min(brokers, REPLICAS)
    named = dict.fromkeys(("default.replication.factor", *FACTORS), str(factor))
    return {**named, "min.insync.replicas": str(2 if factor >= REPLICAS else 1)}
