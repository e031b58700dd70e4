"""Which names a topic may have: Kafka's rules."""

from millstream_cluster.ids import COORDINATOR_TOPICS, METADATA_TOPIC
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode

NAME_LENGTH_MAX = 249
INTERNAL_TOPICS = COORDINATOR_TOPICS
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def check_topic_name(name: str) -> None:
    """Refuse a name that no topic may have."""
    wrong = None
    if not name:
        wrong = "a topic name must not be empty"
    elif name in (".", ".."):
        wrong = f"a topic cannot be named {name!r}"
    elif len(name) > NAME_LENGTH_MAX:
        wrong = f"a topic name has at most {NAME_LENGTH_MAX} characters, this one has {len(name)}"
    elif not _ALLOWED.issuperset(name):
        wrong = f"topic name {name!r} has other characters than ASCII letters, digits, '.', '_' and '-'"
    elif name == METADATA_TOPIC:
        wrong = f"{METADATA_TOPIC} is the metadata log itself"
    if wrong is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)


def collision_key(name: str) -> str:
    """Equal for names that differ only in '.' and '_'."""
    return name.replace(".", "_")
