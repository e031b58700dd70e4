"""Judges a history: every way in which the promises of acks=all, of transactions and of groups can be broken, by name. Pure.

`check` needs the whole history of a run. It believes clients only as far as they can know: what an error left undecided may have
happened or not, but not both.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import checks_of_groups
import checks_of_logs
import checks_of_replicas
import checks_of_transactions
from history import Event
from violations import Violation

CHECKS: Sequence[Callable[[Sequence[Event]], Iterator[Violation]]] = (
    checks_of_logs.lost,
    checks_of_logs.duplicated,
    checks_of_logs.out_of_order,
    checks_of_logs.vanished,
    checks_of_logs.invented,
    checks_of_logs.holes,
    checks_of_logs.unread,
    checks_of_replicas.diverged,
    checks_of_replicas.gaps,
    checks_of_replicas.epochs_back,
    checks_of_transactions.torn,
    checks_of_transactions.hanging,
    checks_of_transactions.wrongly_fenced,
    checks_of_transactions.copies,
    checks_of_groups.accepted_lower,
    checks_of_groups.gone_back,
    checks_of_groups.reads_refused,
)


def check(history: Iterable[Event]) -> list[Violation]:
    events = list(history)
    return [violation for each in CHECKS for violation in each(events)]
