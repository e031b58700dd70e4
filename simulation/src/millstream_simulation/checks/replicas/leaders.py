"""Who leads one of several replicas was let in in this life of its process, and was not told since that it is fenced."""

from dataclasses import dataclass

from millstream_broker.app import BrokerApp
from millstream_simulation.host import Host
from millstream_simulation.story import Story, Violation


@dataclass(slots=True)
class _Life:
    """Of a broker's process."""

    service: BrokerApp
    sessions: int = 0
    """How many have ended."""
    fenced_offset: int = -1
    """If the answer to a heartbeat ended the last one: the fencing before that, which the metadata knew of."""


class LetInLeaders:
    def __init__(self, story: Story) -> None:
        self._story = story
        self._lives: dict[str, _Life] = {}

    def look(self, host: Host) -> None:
        service = host.service
        if not isinstance(service, BrokerApp) or service.partitions is None:
            return
        life = self._lives.get(host.name)
        if life is None or life.service is not service:
            life = self._lives[host.name] = _Life(service)
        why = _why_not(service, life, self._story)
        if why is None:
            return
        for hosted in service.partitions:
            if hosted.partition.leads and len(hosted.partition.replicas) > 1:
                raise Violation(f"leads {hosted.name} in epoch {hosted.partition.leader_epoch}, and {why}")


def _why_not(service: BrokerApp, life: _Life, story: Story) -> str | None:
    """Why this broker may lead nothing that others may lead; None if it may."""
    registration, follower = service.registration, service.follower
    if registration is None or follower is None or not registration.registered.is_set():
        return "was not registered in this life"
    node = follower.image.node(service.config.node_id)
    if node is None:
        return "is not registered"
    if registration._session.number != life.sessions:
        life.sessions, life.fenced_offset = registration._session.number, -1
        if not node.fenced:
            life.fenced_offset = node.fenced_offset
            story.note("told fenced before the metadata said so")
    if node.fenced:
        return "is fenced"
    if registration.fenced and node.fenced_offset == life.fenced_offset:
        return "was told that it is fenced"
    return None
