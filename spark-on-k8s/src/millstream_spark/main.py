"""The one entry of every job: `archive ...` or `audit ...`. Turns refusals into one line and an exit status."""

import logging
import sys

from millstream_spark.archive.job import run_archive
from millstream_spark.audit.job import run_audit
from millstream_spark.errors import JobError

JOBS = {"archive": run_archive, "audit": run_audit}

logger = logging.getLogger(__name__)


def main(argv: list[str] | None = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    words = sys.argv[1:] if argv is None else argv
    if not words or words[0] not in JOBS:
        print(f"usage: millstream-spark {{{','.join(JOBS)}}} ...", file=sys.stderr)
        return 2
    try:
        return JOBS[words[0]](words[1:])
    except JobError as error:
        logger.error("%s.refused reason=%s", words[0], error)
        return error.exit_status


if __name__ == "__main__":
    sys.exit(main())
