"""An API server that some controllers do not reach, that loses requests and answers, or is out of sorts."""

import asyncio
from dataclasses import replace

from millstream.roles import Role
from millstream_controller.app import ControllerApp
from millstream_simulation.host import Host
from millstream_simulation.metadata_stores.api_server import Access, ApiServer
from millstream_simulation.troubles.scene import Scene

TAKEOVER_LOOKS = 15
FOUND_S = 8.0
"""A node's request to a controller that it does not reach is over by then."""


async def lose_store(scene: Scene) -> None:
    """One controller does not reach the API server; everybody else reaches the controller."""
    host = scene.random.choice(_controllers(scene))
    await _cut_off(scene, [host], scene.random.uniform(0.5, 15.0))


async def store_outage(scene: Scene) -> None:
    """Nobody reaches the API server: produce, fetch and commits go on."""
    scene.story.note("store away for all")
    await _cut_off(scene, _controllers(scene), scene.random.uniform(0.5, 10.0))


async def strand_active(scene: Scene) -> None:
    """The active controller loses the API server and its peers, and brokers and coordinators reach it all the time, or again.

    A broker that is started again meanwhile may ask it first, whose metadata is old.
    """
    active = next((host for host in _controllers(scene) if _is_active(host)), None)
    if active is None or any(_server(scene).access(host.name).cut for host in _controllers(scene)):
        return
    peers = [host.name for host in _controllers(scene) if host is not active]
    nodes = [host.name for host in scene.hosts if host.role is not Role.CONTROLLER]
    moved = scene.random.random() < 0.6
    restarted = scene.random.choice([host for host in scene.hosts if host.role is Role.BROKER])
    scene.story.add("stranded", process=active.name, moved=moved)
    scene.story.note("active controller stranded")
    for peer in [*peers, *(nodes if moved else ())]:
        scene.network.cut(active.name, peer)
    away = asyncio.ensure_future(_cut_off(scene, [active], scene.random.choice([8.0, 20.0, 40.0])))
    if moved:
        await _until_followed(scene, active)
        await asyncio.sleep(scene.random.uniform(0.5, 6.0))
        for node in nodes:
            scene.network.mend(active.name, node)
        if not away.done():
            await scene.take_down(Host.kill, scene.random.uniform(0.1, 1.0), restarted)
    await away
    for peer in peers:
        scene.network.mend(active.name, peer)
    scene.story.add("stranded no more", process=active.name)


async def store_out_of_sorts(scene: Scene) -> None:
    """Requests and answers get lost or come late, and what is right is refused in passing."""
    server = _server(scene)
    accesses = [server.access(host.name) for host in _controllers(scene)]
    scene.story.add("store out of sorts")
    worst = Access(
        lost_requests=scene.random.choice([0.0, 0.1, 0.3]),
        lost_replies=scene.random.choice([0.0, 0.1, 0.3]),
        late_requests=scene.random.choice([0.0, 0.05]),
        refused=scene.random.choice([0.0, 0.1, 0.3]),
    )
    for access in accesses:
        _set(access, replace(worst, cut=access.cut))
    await asyncio.sleep(scene.random.uniform(1.0, 8.0))
    for access in accesses:
        _set(access, Access(cut=access.cut))
    scene.story.add("store well again")


def settle(scene: Scene) -> None:
    for host in _controllers(scene):
        _set(_server(scene).access(host.name), Access())


async def _cut_off(scene: Scene, hosts: list[Host], seconds: float) -> None:
    accesses = [_server(scene).access(host.name) for host in hosts]
    scene.story.add("store away", processes=[host.name for host in hosts])
    scene.story.note("store away from a controller")
    for access in accesses:
        access.cut = True
    await asyncio.sleep(seconds)
    for access in accesses:
        access.cut = False
    scene.story.add("store back", processes=[host.name for host in hosts])


async def _until_followed(scene: Scene, old: Host) -> None:
    """Until another controller has been elected and nodes have had the time to find it."""
    for _ in range(TAKEOVER_LOOKS):
        await asyncio.sleep(1.0)
        if any(host is not old and _is_active(host) for host in _controllers(scene)):
            break
    await asyncio.sleep(FOUND_S)


def _controllers(scene: Scene) -> list[Host]:
    return [host for host in scene.hosts if host.role is Role.CONTROLLER]


def _server(scene: Scene) -> ApiServer:
    assert isinstance(scene.store, ApiServer)
    return scene.store


def _is_active(host: Host) -> bool:
    return isinstance(host.service, ControllerApp) and host.service.active is not None


def _set(access: Access, to: Access) -> None:
    access.cut, access.refused = to.cut, to.refused
    access.lost_requests, access.lost_replies, access.late_requests = (
        to.lost_requests,
        to.lost_replies,
        to.late_requests,
    )
