"""How every job reads a topic through the brokers: Spark's Kafka connector, committed records only, loud about losses."""

from collections.abc import Mapping

from millstream_spark.login import Login


def read_options(bootstrap_servers: str, topic: str, login: Login) -> Mapping[str, str]:
    """Return the options of `format("kafka")`, for a stream as for a batch."""
    return {
        "kafka.bootstrap.servers": bootstrap_servers,
        "subscribe": topic,
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        # Only what was committed; without transactions on the topic it changes nothing.
        "kafka.isolation.level": "read_committed",
        # Spark asks for the latest offsets twice after every poll: fewer polls, far fewer requests.
        "kafka.max.poll.records": "10000",
        **{f"kafka.{name}": value for name, value in login.java.items()},
    }
