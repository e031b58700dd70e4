"""Nodes follow the highest controller that they reach: not a deposed one, however gladly it answers."""

import asyncio
from collections.abc import Sequence

from millstream.roles import Role
from millstream_broker.app import BrokerApp
from millstream_controller.app import ControllerApp
from millstream_coordinator.app import CoordinatorApp
from millstream_runtime.simulated.network import SimulatedNetwork
from millstream_simulation.host import Host
from millstream_simulation.story import Story, Violation

FOUND_S = 20.0
"""Within so much time of a sound link to the elected controller a node has found it."""


class HighestController:
    def __init__(self, hosts: Sequence[Host], network: SimulatedNetwork, story: Story) -> None:
        self._controllers = [host for host in hosts if host.role is Role.CONTROLLER]
        self._network = network
        self._story = story
        self._since_s: dict[str, float] = {}

    def look(self, host: Host) -> None:
        service = host.service
        if not isinstance(service, (BrokerApp, CoordinatorApp)) or service.follower is None:
            self._since_s.pop(host.name, None)
            return
        followed = service.follower.image.controller
        highest, epoch = self._highest()
        if followed is None or highest is None or followed.epoch >= epoch or not self._is_sound(host, highest):
            self._since_s.pop(host.name, None)
            return
        now_s = asyncio.get_running_loop().time()
        since_s = self._since_s.setdefault(host.name, now_s)
        if since_s == now_s:
            self._story.note("node behind the elected controller")
        if now_s - since_s > FOUND_S:
            raise Violation(
                f"follows controller epoch {followed.epoch} for {FOUND_S:.0f} s, and reaches {highest.name} of epoch {epoch}"
            )

    def _highest(self) -> tuple[Host | None, int]:
        found: tuple[Host | None, int] = (None, -1)
        for host in self._controllers:
            if isinstance(host.service, ControllerApp):
                active = host.service.active
                if active is not None and active.epoch > found[1]:
                    found = host, active.epoch
        return found

    def _is_sound(self, host: Host, controller: Host) -> bool:
        one, other, network = host.name, controller.name, self._network
        bad = network.conditions.break_probability or (one, other) in network.links or (other, one) in network.links
        return network.reachable(one, other) and not bad
