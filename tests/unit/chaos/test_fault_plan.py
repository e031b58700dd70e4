"""What faults a seed means: the same ones every time, of the families asked for, on those whom they may hit."""

from itertools import islice

from fault_plan import LOSES_DATA, ON_BROKERS_ONLY, SILENT, Cast, Family, Fault, faults

OURS = Cast(
    ("broker-1", "broker-2", "broker-3"), (("controller-1", "controller-2"), ("coordinator-1", "coordinator-2"))
)
KAFKA = Cast(("broker-1", "broker-2", "broker-3"))
MANY = 2_000


def drawn(seed: int, cast: Cast = OURS, families: list[Family] | None = None) -> list[Fault]:
    return list(islice(faults(seed, families or list(Family), cast), MANY))


def test_a_seed_is_the_same_faults_every_time() -> None:
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


def test_every_family_hits_everybody_whom_it_may() -> None:
    hit = {(fault.family, fault.victim) for fault in drawn(1)}
    wanted = {
        (family, victim)
        for family in Family
        for victim in OURS.everybody
        if family not in ON_BROKERS_ONLY or victim in OURS.brokers
    }
    assert hit == wanted


def test_only_what_was_asked_for_is_drawn() -> None:
    assert {fault.family for fault in drawn(1, families=[Family.POWER])} == {Family.POWER}
    assert all(fault.beside is None for fault in drawn(1, families=[Family.POWER]))


def test_two_at_a_time_never_hit_the_same_kind_of_process_and_never_lose_data_twice() -> None:
    pairs = [(fault, fault.beside) for fault in drawn(1) if fault.beside is not None]
    assert pairs
    assert all(OURS.kind_of(one.victim) != OURS.kind_of(other.victim) for one, other in pairs)
    assert all(other.family not in LOSES_DATA for _, other in pairs)


def test_where_all_processes_are_of_one_kind_faults_come_one_at_a_time() -> None:
    assert all(fault.beside is None for fault in drawn(1, KAFKA))


def test_nobody_is_cut_from_itself_and_clients_are_sometimes() -> None:
    cuts = [fault for fault in drawn(1) if fault.family in (Family.CUT, Family.ONE_WAY)]
    assert all(fault.others and fault.victim not in fault.others for fault in cuts)
    assert {OURS.clients in fault.others for fault in cuts} == {True, False}


def test_silent_faults_say_whether_a_session_outlasts_them_and_who_notices() -> None:
    extents = {(fault.family, fault.extent) for fault in drawn(1)}
    assert {family for family, extent in extents if extent} == SILENT
    assert {extent for family, extent in extents if family is Family.PAUSE} == {"", "briefly"}
    assert {extent for family, extent in extents if family is Family.CUT} == {
        "",
        "briefly",
        "in part",
        "in part, briefly",
    }
