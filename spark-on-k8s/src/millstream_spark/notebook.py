"""A notebook's first cell: `from millstream_spark import session, read_topic, write_topic`.

    session("orders", profile="production")
    orders = read_topic("orders", value=Json("id BIGINT, amount DOUBLE"))

Where the cluster is and how to log in is the session's, under settings of these names; both functions read them there.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from millstream_spark.decoding import Decoder, decoded
from millstream_spark.errors import BadCredentials, BadQuery
from millstream_spark.login import bootstrap_servers_of, read_login
from millstream_spark.sink.sink import ExactlyOnceSink
from millstream_spark.source import read_options
from millstream_spark.spark_session import NOTHING_MORE, open_session
from millstream_spark.trigger import parse_trigger, triggered

BOOTSTRAP_SERVERS = "spark.millstream.bootstrapServers"
CREDENTIALS = "spark.millstream.credentials"
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
PROFILE_IN_USE = "MILLSTREAM_PROFILE"
RECORD = ("topic", "partition", "offset", "timestamp", "headers")


def session(
    name: str = "notebook",
    *,
    bootstrap_servers: str | None = None,
    credentials: str | None = None,
    profile: str | None = None,
    settings: Mapping[str, str] = NOTHING_MORE,
) -> SparkSession:
    """Open Spark towards a cluster: one that is named, or a profile of `millstream profile`, or this machine's.

    `credentials`: the directory of a User's Secret, or client properties as Kafka's tools take them.
    `settings`: Spark's own; they win over the ones made here. Raises BadCredentials.
    """
    if profile is not None and credentials is not None:
        raise BadCredentials("a profile has credentials of its own: name one of the two")
    if credentials is None and (profile is not None or bootstrap_servers is None):
        credentials = _profile(profile)
    if bootstrap_servers is None and credentials is not None:
        bootstrap_servers = bootstrap_servers_of(credentials)
    read_login(credentials)
    ours = {
        BOOTSTRAP_SERVERS: bootstrap_servers or DEFAULT_BOOTSTRAP,
        "spark.driver.memory": "1g",
        # Spark's 200 are for a cluster of hundreds of cores; a query keeps the number that it began with.
        "spark.sql.shuffle.partitions": "8",
        # Said also where there are none: a session that is open keeps what it was told, and a password is for one address.
        CREDENTIALS: "" if credentials is None else str(Path(credentials).resolve()),
        **settings,
    }
    return open_session(name, ours)


def read_topic(
    topic: str,
    *,
    key: Decoder | None = None,
    value: Decoder | None = None,
    stream: bool = False,
    starting_offsets: str = "earliest",
    max_offsets_per_trigger: int = 100_000,
    undecodable: str = "fail",
) -> DataFrame:
    """Return a topic's committed records; as a stream, in batches of so many at most, the first too.

    `undecodable`: a key or value that the decoder cannot read ends the query and is named (`fail`), or is null.
    """
    if undecodable not in ("fail", "null"):
        raise BadQuery(f"undecodable={undecodable!r}: it is fail or null")
    spark, servers, credentials = _cluster()
    options = {**read_options(servers, topic, read_login(credentials)), "startingOffsets": starting_offsets}
    if stream:
        reader = spark.readStream.format("kafka").options(**options)
        records = reader.option("maxOffsetsPerTrigger", max_offsets_per_trigger).load()
    else:
        records = spark.read.format("kafka").options(**options).load()
    columns = [decoded(name, decoder, undecodable=undecodable) for name, decoder in (("key", key), ("value", value))]
    return records.select(*columns, *RECORD)


def write_topic(
    rows: DataFrame,
    topic: str,
    *,
    name: str | None = None,
    checkpoint: str | None = None,
    trigger: str = "available-now",
    slots: int = 1,
) -> StreamingQuery | None:
    """Write rows with a `value`, and maybe `key`, `headers` and `partition`; a struct is written as JSON.

    A stream is written exactly once, by a query that needs a `name` of its own and a `checkpoint`, and is returned. Other
    rows are written before this returns, at least once: again if a task is tried again.
    """
    _, servers, credentials = _cluster()
    encoded = rows.select([_encoded(rows, column) for column in rows.columns])
    if not rows.isStreaming:
        login = read_login(credentials).java
        writer = encoded.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic)
        writer.options(**{f"kafka.{setting}": text for setting, text in login.items()}).save()
        return None
    if name is None or checkpoint is None:
        raise BadQuery("a stream is written exactly once by its name and its checkpoint: give both")
    sink = ExactlyOnceSink(
        bootstrap_servers=servers,
        topic=topic,
        name=name,
        checkpoint=checkpoint,
        slots=slots,
        credentials=credentials,
    )
    writer_of_stream = triggered(sink.write_stream(encoded).queryName(name), parse_trigger(trigger))
    return writer_of_stream.start()


def _cluster() -> tuple[SparkSession, str, str | None]:
    spark = SparkSession.getActiveSession()
    servers = None if spark is None else spark.conf.get(BOOTSTRAP_SERVERS, None)
    if spark is None or servers is None:
        raise BadQuery("no session knows a cluster: call session() first")
    return spark, servers, spark.conf.get(CREDENTIALS, "") or None


def _encoded(rows: DataFrame, name: str) -> Column:
    is_struct = isinstance(rows.schema[name].dataType, StructType)
    return F.to_json(name).alias(name) if name in ("key", "value") and is_struct else F.col(name)


def _profile(name: str | None) -> str | None:
    """Return the file of the profile named, else of the one in use, None if there is none."""
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    directory = Path(config) / "millstream" / "profiles"
    in_use = directory / "in-use"
    if name is None:
        name = os.environ.get(PROFILE_IN_USE) or (in_use.read_text().strip() if in_use.is_file() else "")
    if not name:
        return None
    path = directory / f"{name}.properties"
    if not path.is_file():
        raise BadCredentials(f"there is no profile {name}: `millstream profile list` shows those there are")
    return str(path)
