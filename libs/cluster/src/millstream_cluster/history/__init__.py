"""What happened to a cluster, told from the records of its metadata log (docs/decisions/history.md)."""

from millstream_cluster.history.event import Event, grouped
from millstream_cluster.history.group import GroupEntry, group_events
from millstream_cluster.history.metadata import Entry, events_of

__all__ = ["Entry", "Event", "GroupEntry", "events_of", "group_events", "grouped"]
