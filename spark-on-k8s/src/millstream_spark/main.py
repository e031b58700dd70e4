"""The one entry of every job: `archive ...`, `audit ...`. Turns every failure into one line and an exit status."""

import importlib
import logging
import sys

from confluent_kafka import KafkaException
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream_spark.errors import JobError
from millstream_spark.failure import told

# Imported only when it is run: the drivers of some are small.
JOBS = {
    name: (f"millstream_spark.{name}.job", f"run_{name}")
    for name in ("aggregate", "archive", "audit", "backfill", "mirror", "replay")
}

logger = logging.getLogger(__name__)


def main(argv: list[str] | None = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] not in JOBS:
        print(f"usage: millstream-spark {{{','.join(JOBS)}}} ...", file=sys.stderr)
        return 2
    module, run = JOBS[words[0]]
    try:
        status: int = getattr(importlib.import_module(module), run)(words[1:])
    except JobError as error:
        logger.error("%s.refused reason=%s", words[0], error)
        return error.exit_status
    except (KafkaException, Py4JError, PySparkException) as error:
        failure = told(error)
        logger.error("%s.failed reason=%s", words[0], failure)
        logger.debug("%s.trace", words[0], exc_info=error)
        return failure.exit_status
    return status


if __name__ == "__main__":
    sys.exit(main())
