"""How every job reads a topic through the brokers: Spark's Kafka connector, committed records only, loud about losses."""

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millstream_spark.errors import BadConfig
from millstream_spark.login import Login
from millstream_spark.spark_session import NOTHING_MORE

# What a job or Spark decides; credentials are for all of a job's clients, not only for the one that reads.
DECIDED = (
    *("bootstrap.servers", "isolation.level", "group.id", "auto.offset.reset", "enable.auto.commit"),
    *("key.deserializer", "value.deserializer", "interceptor.classes", "config.providers"),
)
LOGIN = ("security.", "sasl.", "ssl.")


def read_options(
    bootstrap_servers: str,
    topic: str,
    login: Login,
    settings: Mapping[str, str] = NOTHING_MORE,
    *,
    skip_deleted: bool = False,
) -> Mapping[str, str]:
    """Return the options of `format("kafka")`, for a stream as for a batch.

    `settings`: the consumer's, that were checked; `skip_deleted`: go on behind records that were deleted before they were read.
    """
    consumer = {
        # Spark asks for the latest offsets twice after every poll: fewer polls, far fewer requests.
        "max.poll.records": "10000",
        **settings,
        "bootstrap.servers": bootstrap_servers,
        # Only what was committed; without transactions on the topic it changes nothing.
        "isolation.level": "read_committed",
        **login.java,
    }
    return {
        "subscribe": topic,
        "includeHeaders": "true",
        "failOnDataLoss": "false" if skip_deleted else "true",
        **{f"kafka.{name}": value for name, value in consumer.items()},
    }


def check_settings(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Raise BadConfig for settings that Kafka's consumer does not know or take, and for those that a job decides."""
    if not settings:
        return
    jvm: Any = spark._jvm
    consumer = jvm.org.apache.kafka.clients.consumer.ConsumerConfig
    known = set(consumer.configNames())
    words = jvm.java.util.HashMap()
    for name, value in settings.items():
        if name in DECIDED or name.startswith(LOGIN):
            raise BadConfig(f"{name} of Kafka's consumer is not for a setting: the job or its credentials decide it")
        if name not in known:
            raise BadConfig(f"Kafka's consumer has no setting {name}")
        words.put(name, value)
    for name in ("key.deserializer", "value.deserializer"):
        words.put(name, "org.apache.kafka.common.serialization.ByteArrayDeserializer")
    try:
        consumer(words)
    except Py4JJavaError as error:
        raise BadConfig(str(error.java_exception.getMessage())) from None
