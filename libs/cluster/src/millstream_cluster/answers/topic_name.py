"""Which names a topic may have; the same rule as Kafka's, because names become directories."""

import re

TOPIC_NAME_MAX = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def is_valid_topic_name(name: str) -> bool:
    return _LEGAL.fullmatch(name) is not None and name not in (".", "..")
