"""What the disk has of a file follows the flushes, page by page, as on Linux."""

import random

from millstream_simulation.disks.platter import PAGE_BYTES, Platter


def test_what_was_flushed_is_there_after_every_power_loss() -> None:
    platter = Platter(b"")
    shown = b"a" * 5000
    platter.note_written(0, 5000)
    platter.flush(shown)
    shown += b"b" * 5000
    platter.note_written(5000, 10_000)
    found = {platter.after_power_loss(shown, random.Random(seed)) for seed in range(200)}
    assert all(left.startswith(b"a" * 5000) for left in found)
    assert shown in found, "all of it may have reached the disk"
    assert b"a" * 5000 in found, "or nothing"
    tails = {left[5000:] for left in found}
    assert any(0 < len(tail) < 5000 and tail == b"b" * len(tail) for tail in tails), "or a part"
    assert any(b"\0b" in tail for tail in tails), "or the later page and not the earlier one"


def test_a_page_may_be_half_written() -> None:
    platter = Platter(b"a" * PAGE_BYTES)
    platter.note_written(100, 200)
    shown = b"a" * 100 + b"b" * 100 + b"a" * (PAGE_BYTES - 200)
    found = {platter.after_power_loss(shown, random.Random(seed)) for seed in range(400)}
    assert {left.count(b"b") for left in found} >= {0, 100}
    assert any(0 < left.count(b"b") < 100 for left in found)


def test_what_a_failed_flush_was_for_is_not_written_by_the_next() -> None:
    platter = Platter(b"")
    shown = b"a" * 2 * PAGE_BYTES
    platter.note_written(0, len(shown))
    platter.fail_flush()
    platter.flush(shown)
    assert {platter.after_power_loss(shown, random.Random(seed)) for seed in range(50)} == {bytes(2 * PAGE_BYTES)}
    platter.note_written(10, 20)
    platter.flush(shown)
    assert platter.after_power_loss(shown, random.Random(1)) == b"a" * PAGE_BYTES + bytes(PAGE_BYTES)


def test_what_memory_forgets_is_read_from_the_disk_but_only_in_whole_pages() -> None:
    platter = Platter(b"")
    shown = b"a" * 2 * PAGE_BYTES
    platter.note_written(0, len(shown))
    platter.fail_flush()
    assert platter.forget(shown, 1) == b"a" * PAGE_BYTES + bytes(PAGE_BYTES)
    assert platter.forget(shown, 0) == bytes(PAGE_BYTES) + b"a" * PAGE_BYTES, "the second page is clean now"
    assert platter.is_clean


def test_a_file_that_was_cut_and_grew_again_has_nothing_of_what_was_cut() -> None:
    platter = Platter(b"a" * 10_000)
    platter.note_resized(10_000, 100)
    platter.note_resized(100, 9000)
    shown = b"a" * 100 + bytes(8900)
    found = {platter.after_power_loss(shown, random.Random(seed)) for seed in range(100)}
    assert b"a" * 10_000 in found, "the cut itself may be lost"
    assert all(set(left[100:]) <= {0} for left in found - {b"a" * 10_000})
    platter.flush(shown)
    assert platter.is_clean
    assert platter.after_power_loss(shown, random.Random(1)) == shown
