"""Log compaction: a log keeps the latest record of each key, and every offset stays what it was."""

from millstream_log.cleaner.cleaning import Cleaned, Cleaning, Step, Worked
from millstream_log.cleaner.plan import Cleanable, Compaction, find_cleanable, wants_cleaning
from millstream_log.cleaner.replacement import replace_segments, settle_replacement

__all__ = [
    "Cleanable",
    "Cleaned",
    "Cleaning",
    "Compaction",
    "Step",
    "Worked",
    "find_cleanable",
    "replace_segments",
    "settle_replacement",
    "wants_cleaning",
]
