"""A controller that was deposed is believed no longer than it may be, wherever it is and whatever it cannot reach."""

import asyncio

from millstream_controller.app import ControllerApp
from millstream_simulation.checks.committed_metadata import CommittedMetadata
from millstream_simulation.host import Host
from millstream_simulation.story import Violation


class DeposedControllers:
    def __init__(self, metadata: CommittedMetadata) -> None:
        self._metadata = metadata
        self._elected = -1, 0.0
        """The highest epoch that somebody was elected in, and when that was seen."""

    def look(self, host: Host) -> None:
        service = host.service
        if not isinstance(service, ControllerApp) or service.active is None:
            return
        now_s = asyncio.get_running_loop().time()
        elected = self._metadata.image.controller
        if elected is not None and elected.epoch > self._elected[0]:
            self._elected = elected.epoch, now_s
        epoch, since_s = self._elected
        if service.active.epoch >= epoch or not service.active.verified:
            return
        # Its last proof is from before the election; for how long that is good it measures with its own clock.
        believed_s = service.config.settings.verify_timeout_ms / 1000 / host.clock.rate
        if now_s - since_s > believed_s:
            raise Violation(
                f"is believed as the controller of epoch {service.active.epoch}, {now_s - since_s:.1f} s after epoch {epoch} began"
            )
