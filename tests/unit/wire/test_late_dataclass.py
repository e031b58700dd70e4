"""Late dataclasses beside those of `dataclasses`: whatever can be seen of them is the same."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from millstream_wire import late_dataclass

STANDARD, LATE = dataclasses.dataclass, late_dataclass.dataclass


def declared(dataclass: Any) -> tuple[type, ...]:
    @dataclass(frozen=True, slots=True)
    class Replica:
        kind: ClassVar[str] = "replica"
        broker: int
        offsets: list[int] = field(default_factory=list)
        secret: str = field(default="?", repr=False)
        seen: int = field(default=0, compare=False)

        @property
        def end(self) -> int:
            return self.offsets[-1]

    @dataclass(frozen=True, slots=True)
    class Follower(Replica):
        lag: int = 0
        secret: str = "!"

    @dataclass(slots=True, kw_only=True)
    class Counted:
        name: str
        times: int = 0

        def __post_init__(self) -> None:
            self.times += 1

    @dataclass(slots=True, eq=False)
    class Session:
        number: int

    @dataclass(frozen=True, slots=True)
    class Named:
        name: str
        id: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and self.id == other.id

        def __repr__(self) -> str:
            return self.name

    return Replica, Follower, Counted, Session, Named


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (TypeError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


USES: tuple[Callable[..., Any], ...] = (
    lambda Replica, *_: repr(Replica(1, [2])),
    lambda Replica, *_: (
        Replica(1, [2]) == Replica(1, [2], seen=9),
        Replica(1) == Replica(2),
        Replica(1) != Replica(2),
    ),
    lambda Replica, *_: Replica(1) == 1,
    lambda Replica, *_: hash(Replica(1, (2,))) == hash(Replica(1, (2,), seen=9)),
    lambda Replica, *_: hash(Replica(1)),
    lambda Replica, *_: Replica(),
    lambda Replica, *_: Replica(1, [], "", 0, 5),
    lambda Replica, *_: Replica(broker=1, lag=2),
    lambda Replica, *_: Replica(1).offsets is Replica(1).offsets,
    lambda Replica, *_: setattr(Replica(1), "broker", 2),
    lambda Replica, *_: delattr(Replica(1), "broker"),
    lambda Replica, *_: Replica(1, [2]).end,
    lambda Replica, *_: (Replica.kind, Replica.__slots__, Replica.__match_args__, Replica.__qualname__),
    lambda Replica, *_: [(each.name, each.type, each.repr, each.compare) for each in dataclasses.fields(Replica)],
    lambda Replica, *_: repr(dataclasses.replace(Replica(1, [2], "s"), broker=3)),
    lambda Replica, *_: dataclasses.asdict(Replica(1, [2], "s")),
    lambda Replica, *_: copy.deepcopy(Replica(1, [2])) == Replica(1, [2]),
    lambda _, Follower, *__: (
        repr(Follower(1, lag=2)),
        Follower(1).secret,
        Follower.__slots__,
        Follower.__match_args__,
    ),
    lambda _, Follower, *__: [each.name for each in dataclasses.fields(Follower)],
    lambda Replica, Follower, *_: Replica(1, [], "!") == Follower(1),
    lambda Replica, Follower, *_: (issubclass(Follower, Replica), hash(Follower(1, ())) == hash(Follower(1, ()))),
    lambda _, __, Counted, *___: (repr(Counted(name="a")), Counted(name="a") == Counted(name="a")),
    lambda _, __, Counted, *___: Counted("a"),
    lambda _, __, Counted, *___: hash(Counted(name="a")),
    lambda _, __, Counted, *___: setattr(Counted(name="a"), "other", 1),
    lambda _, __, ___, Session, *____: (Session(1) == Session(1), len({Session(1), Session(1)}), repr(Session(1))),
    lambda *classes: (repr(classes[4]("a", 1)), classes[4]("a", 1) == classes[4]("b", 1)),
    lambda *classes: hash(classes[4]("a", 1)) == hash(classes[4]("a", 1)),
)


@pytest.mark.parametrize("use", USES)
def test_what_can_be_seen_of_one_is_what_can_be_seen_of_the_other(use: Callable[..., Any]) -> None:
    expected = outcome(lambda: use(*declared(STANDARD)))
    classes = declared(LATE)
    assert outcome(lambda: use(*classes)) == expected
    assert outcome(lambda: use(*classes)) == expected, "as at the first time"


@LATE(frozen=True, slots=True)
class Kept:
    """Where pickle finds it."""

    name: str
    numbers: tuple[int, ...] = ()


def test_values_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept("a", (1, 2)))) == Kept("a", (1, 2))


def test_positions_are_matched() -> None:
    match Kept("a", (1,)):
        case Kept(name, numbers):
            assert (name, numbers) == ("a", (1,))


def test_two_threads_that_call_a_method_first_both_have_it() -> None:
    """One of them holds what stands in for it while the other has written it already."""

    @LATE(frozen=True, slots=True)
    class Base:
        first: int

    @LATE(frozen=True, slots=True)
    class Derived(Base):
        second: int

    for cls, values in ((Base, (1,)), (Derived, (1, 2))):
        stands_in: Any = vars(cls)["__init__"]
        made: Any = cls(*values)
        late = object.__new__(cls)
        stands_in(late, *values)
        assert late == made
