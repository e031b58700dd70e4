"""Which names a topic may have; the same rule as Kafka's, in Kafka's words, because names become directories."""

import re

TOPIC_NAME_MAX = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def is_valid_topic_name(name: str) -> bool:
    return wrong_with_topic_name(name) is None


def wrong_with_topic_name(name: str) -> str | None:
    if not name:
        wrong = "the empty string is not allowed"
    elif name in (".", ".."):
        wrong = f"'{name}' is not allowed"
    elif len(name) > TOPIC_NAME_MAX:
        wrong = f"the length of '{name}' is longer than the max allowed length {TOPIC_NAME_MAX}"
    elif _LEGAL.fullmatch(name) is None:
        wrong = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {wrong}"
