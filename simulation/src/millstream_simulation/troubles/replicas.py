"""What goes wrong between brokers that keep replicas of the same partitions."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from millstream.roles import Role
from millstream_cluster.image import Image
from millstream_controller.app import ControllerApp
from millstream_simulation.host import Host
from millstream_simulation.troubles.scene import Scene


async def cut_brokers(scene: Scene) -> None:
    """A broker and another one, or all others, do not hear each other, or do in one direction; everybody else hears them all."""
    one, *others = scene.random.sample(_names(scene), len(_names(scene)))
    others = others if scene.random.random() < 0.4 else others[:1]
    is_one_way = scene.random.random() < 0.5
    scene.story.add("brokers cut", one=one, others=others, one_way=is_one_way)
    scene.story.note("brokers cut from each other")
    for other in others:
        scene.network.cut_one_way(one, other)
        if not is_one_way:
            scene.network.cut_one_way(other, one)
    await asyncio.sleep(scene.random.uniform(0.5, 10.0))
    for other in others:
        scene.network.mend(one, other)
    scene.story.add("brokers mended", one=one, others=others)


async def slow_follower(scene: Scene) -> None:
    """One broker hears all others late: it keeps up, or falls behind."""
    slow = scene.random.choice(_names(scene))
    lowest_ms = scene.random.choice([30.0, 200.0, 900.0])
    others = [name for name in _names(scene) if name != slow]
    scene.story.add("slow follower", broker=slow, lowest_ms=lowest_ms)
    scene.story.note("follower slow")
    for other in others:
        scene.network.links[other, slow] = replace(scene.calm, delay_ms=(lowest_ms, 2 * lowest_ms))
    await asyncio.sleep(scene.random.uniform(1.0, 8.0))
    for other in others:
        scene.network.links.pop((other, slow), None)
    scene.story.add("follower fast again", broker=slow)


async def kill_broker(scene: Scene) -> None:
    """For a short while, as often as not: it is back before anybody has noticed."""
    seconds = scene.random.choice([0.1, scene.random.uniform(0.5, 3.0), scene.random.uniform(3.0, 10.0)])
    await scene.take_down(Host.kill, seconds, scene.random.choice(_brokers(scene)))


async def kill_together(scene: Scene) -> None:
    """The active controller and a broker, as on one machine; the broker is back before another controller has missed it."""
    active = next(
        (host for host in scene.hosts if isinstance(host.service, ControllerApp) and host.service.active), None
    )
    broker = scene.random.choice(_brokers(scene))
    controllers_down = any(host.role is Role.CONTROLLER and host.name in scene.down for host in scene.hosts)
    if active is None or controllers_down or broker.name in scene.down:
        return
    scene.down |= {active.name, broker.name}
    scene.story.note("broker killed with the active controller")
    await active.kill()
    await broker.kill()
    await asyncio.sleep(0.1)
    broker.start()
    scene.down.discard(broker.name)
    await asyncio.sleep(scene.random.uniform(0.5, 5.0))
    active.start()
    scene.down.discard(active.name)


async def stop_broker(scene: Scene) -> None:
    """It hands over what it leads, and comes back with all that it had."""
    await scene.take_down(Host.stop, scene.random.uniform(0.1, 6.0), scene.random.choice(_brokers(scene)))


async def lose_disk(scene: Scene) -> None:
    """One broker comes back with an empty disk; everybody else has everything, and no other loses anything meanwhile."""

    async def without(host: Host) -> None:
        await host.kill()
        host.lose_disk()

    await lose_at_one(scene, without)


async def lose_power_of_one(scene: Scene) -> None:
    """One broker loses what it has not flushed; everybody else has everything, and no other loses anything meanwhile."""
    await lose_at_one(scene, Host.lose_power)


async def lose_at_one(scene: Scene, end: Callable[[Host], Awaitable[None]]) -> None:
    """Of what is on several disks one may lose it at a time: not before everybody has everything again."""
    host = scene.random.choice(_brokers(scene))
    if host.name not in scene.down and _is_whole(scene):
        node = scene.image().node(_node_id(host))
        scene.lost[_node_id(host)] = node.epoch if node is not None else -1
        await scene.take_down(end, scene.random.uniform(0.1, 6.0), host)


def _is_whole(scene: Scene) -> bool:
    """Whether every replica is in sync, and who lost something has been registered since, so that this says something of it."""
    image = scene.image()
    for node_id, epoch in scene.lost.items():
        node = image.node(node_id)
        if node is None or node.epoch <= epoch:
            return False
    return all_in_sync(image)


def all_in_sync(image: Image) -> bool:
    """Whether every replica of every partition is in sync."""
    return all(set(partition.isr) == set(partition.replicas) for partition in image.partitions())


def _brokers(scene: Scene) -> list[Host]:
    return [host for host in scene.hosts if host.role is Role.BROKER]


def _node_id(host: Host) -> int:
    return int(host.name.rpartition("-")[2])


def _names(scene: Scene) -> list[str]:
    return [host.name for host in _brokers(scene)]
