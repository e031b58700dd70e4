"""A consumer as a pod runs it: a static member under the pod's name. `python worker.py SETTINGS GROUP TOPIC`."""

import json
import os
import sys

from kafka import KafkaConsumer


def main() -> None:
    settings, group, topic = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
    consumer = KafkaConsumer(
        topic,
        **settings,
        group_id=group,
        group_instance_id=os.environ["POD_NAME"],
        # Long enough for nobody to be removed by it in a test.
        session_timeout_ms=600_000,
        heartbeat_interval_ms=500,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=10,
    )
    while True:
        # The lag stays as it is: what counts is who is a member.
        consumer.poll(timeout_ms=200)


if __name__ == "__main__":
    main()
