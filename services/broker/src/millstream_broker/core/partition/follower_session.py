"""The follower's half of an incremental fetch session (KIP-227): a request says only what is new since the one before.

Between two answers a leader remembers which partitions a follower asks for, and from where. So a request about thousands of
partitions in which nothing happens is a few bytes, and so is its answer.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.follower import FetchFrom
from millstream_broker.core.reads.fetch_session import INITIAL_EPOCH, NO_SESSION_ID, next_epoch
from millstream_wire.errors import ErrorCode

SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
"""The leader does not know the session any more: begin another one."""


class Ask(NamedTuple):
    """One request: what it says of the session, and of the partitions."""

    session_id: int
    session_epoch: int
    questions: Mapping[ReplicaKey, FetchFrom]
    forgotten: tuple[ReplicaKey, ...]


class FollowerSession:
    """`questions`: as the leader has them, once it has the last request."""

    def __init__(self) -> None:
        self.questions: dict[ReplicaKey, FetchFrom] = {}
        self._id = NO_SESSION_ID
        self._epoch = INITIAL_EPOCH

    def next(self, changed: Mapping[ReplicaKey, FetchFrom | None]) -> Ask:
        """The next request, when these are the questions that may differ from those of the last; None: nothing is asked now."""
        told: dict[ReplicaKey, FetchFrom] = {}
        forgotten = []
        for key, question in changed.items():
            if question is None:
                if self.questions.pop(key, None) is not None:
                    forgotten.append(key)
            elif self.questions.get(key) != question:
                self.questions[key] = told[key] = question
        if self._epoch == INITIAL_EPOCH:
            return Ask(self._id, INITIAL_EPOCH, self.questions, ())
        return Ask(self._id, self._epoch, told, tuple(forgotten))

    def on_answer(self, error_code: ErrorCode, session_id: int) -> None:
        if error_code is not ErrorCode.NONE or session_id == NO_SESSION_ID:
            self.begin_again()  # the leader may have no room for a session: then every request says everything
        else:
            self._id, self._epoch = session_id, next_epoch(self._epoch)

    def begin_again(self) -> None:
        """Whether the last request arrived is not known, or it is known that the session is gone. Its id makes room for the next."""
        self._epoch = INITIAL_EPOCH
