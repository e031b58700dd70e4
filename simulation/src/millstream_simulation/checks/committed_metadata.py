"""What a node has applied of the metadata log is a prefix of what controllers have committed, record by record."""

from collections.abc import Callable, Sequence

from millstream_broker.app import BrokerApp
from millstream_cluster.image import Image
from millstream_cluster.records import MetadataRecord
from millstream_controller.app import ControllerApp
from millstream_controller.shell.batches import decode_records
from millstream_controller.shell.metadata_log import MetadataLog
from millstream_coordinator.app import CoordinatorApp
from millstream_runtime.nodes.follower import MetadataFollower
from millstream_simulation.host import Host
from millstream_simulation.story import Violation

READ_BYTES = 1 << 20


class CommittedMetadata:
    """The log as it was first seen, and its Image; whoever sees another record at one of its offsets is wrong, or the log changed."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.image = Image()
        self.on_committed: list[Callable[[Image, MetadataRecord], None]] = []
        """Each is called once with each record, before the image has it."""
        self._records: list[MetadataRecord] = []
        self._hosts = hosts
        self._followers: dict[str, MetadataFollower] = {}
        self._looked_at: dict[str, tuple[MetadataLog, int]] = {}

    def look(self, host: Host) -> None:
        service = host.service
        if isinstance(service, ControllerApp):
            self._look_at_log(host.name, service)
        elif isinstance(service, (BrokerApp, CoordinatorApp)):
            follower = service.follower
            if follower is not None and self._followers.get(host.name) is not follower:
                self._followers[host.name] = follower
                self._listen(follower)

    def refresh(self) -> None:
        """Take in what controllers have committed since they were last looked at."""
        for host in self._hosts:
            if isinstance(host.service, ControllerApp):
                self._look_at_log(host.name, host.service)

    def _look_at_log(self, name: str, controller: ControllerApp) -> None:
        active = controller.active
        if active is None:
            return
        log = active.log
        before, end = self._looked_at.get(name, (None, 0))
        if before is log and end == log.end_offset:
            return
        position = max(end if before is log else 0, log.start_offset)
        self._looked_at[name] = (log, log.end_offset)
        while position < log.end_offset:
            for offset, record in decode_records(log.read(position, READ_BYTES)):
                if offset >= position:
                    self._take(offset, record)
                    position = offset + 1

    def _listen(self, follower: MetadataFollower) -> None:
        told = follower._on_records

        def listening(image: Image, records: Sequence[MetadataRecord]) -> None:
            self.refresh()
            self._judge(image, records)
            told(image, records)

        follower._on_records = listening
        if follower.image.offset >= 0:
            self._judge_snapshot(follower.image)

    def _judge(self, image: Image, records: Sequence[MetadataRecord]) -> None:
        first = image.offset - len(records) + 1
        if 0 <= first <= len(self._records) and list(records) == self._records[first : image.offset + 1]:
            return
        if first == len(self._records):  # a controller died before anybody looked at what it had committed
            for offset, record in enumerate(records, first):
                self._take(offset, record)
            return
        self._judge_snapshot(image)

    def _judge_snapshot(self, image: Image) -> None:
        if image.offset >= len(self._records):
            return  # it is ahead of all that was looked at
        expected = Image()
        for offset, record in enumerate(self._records[: image.offset + 1]):
            expected.apply(record, offset)
        if image != expected:
            raise Violation(f"metadata up to {image.offset} was applied, and the committed log says something else")

    def _take(self, offset: int, record: MetadataRecord) -> None:
        if offset == len(self._records):
            self._records.append(record)
            for told in self.on_committed:
                told(self.image, record)
            self.image.apply(record, offset)
        elif offset < len(self._records) and self._records[offset] != record:
            raise Violation(f"metadata at {offset} was {self._records[offset]}, now it is {record}")
