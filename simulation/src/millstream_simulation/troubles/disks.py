"""Disks that lose power, fill up, or fail: a broker's, or that of a metadata store in a directory."""

import asyncio
from pathlib import Path

from millstream.roles import Role
from millstream_simulation.exposed_topics import TOPIC
from millstream_simulation.host import Host
from millstream_simulation.metadata_stores.directory import StoreDirectory
from millstream_simulation.troubles.replicas import lose_at_one
from millstream_simulation.troubles.scene import Scene

BUSIEST = 3
"""A disk that fails where nobody reads or writes goes unnoticed."""


async def lose_power(scene: Scene) -> None:
    """A broker's machine goes down with all that it has not flushed."""
    await scene.take_down(Host.lose_power, scene.random.uniform(0.1, 8.0), scene.random.choice(_brokers(scene)))


async def black_out(scene: Scene) -> None:
    """The machines of all brokers go down at the same moment, with all that they have not flushed."""
    brokers = _brokers(scene)
    if any(host.name in scene.down for host in brokers):
        return
    scene.down.update(host.name for host in brokers)
    scene.story.note("power lost everywhere")
    for host in brokers:
        await host.kill()
    for host in brokers:
        host.disk.lose_power()
        scene.story.add("power lost", process=host.name)
    for host in scene.random.sample(brokers, len(brokers)):
        await asyncio.sleep(scene.random.uniform(0.0, 3.0))
        host.start()
        scene.down.discard(host.name)


async def lose_store_power(scene: Scene) -> None:
    """The machine of the controllers, who share a directory."""
    controllers = [host for host in scene.hosts if host.role is Role.CONTROLLER]
    if not isinstance(scene.store, StoreDirectory) or any(host.name in scene.down for host in controllers):
        return
    scene.down.update(host.name for host in controllers)
    for host in controllers:
        await host.kill()
    scene.store.disk.lose_power()
    scene.story.add("store lost power")
    await asyncio.sleep(scene.random.uniform(0.1, 3.0))
    for host in controllers:
        host.start()
        scene.down.discard(host.name)


async def fill(scene: Scene) -> None:
    """Until somebody makes room."""
    host = scene.random.choice(_brokers(scene))
    scene.story.add("disk fills", process=host.name)
    host.disk.faults.room_bytes = scene.random.choice([0, 500, 5_000])
    await asyncio.sleep(scene.random.uniform(0.5, 5.0))
    host.disk.faults.room_bytes = None
    scene.story.add("room again", process=host.name)


async def fail_flush(scene: Scene) -> None:
    """One partition's next flush fails; what it was for is lost, though memory has it, until the broker starts again."""
    host = scene.random.choice(_brokers(scene))
    directory = _partition(scene, host)
    if directory is None:
        return
    scene.story.add("flush fails", process=host.name, partition=directory.name)
    host.disk.faults.unflushable.add(directory)
    await asyncio.sleep(scene.random.uniform(0.5, 5.0))
    host.disk.faults.unflushable.discard(directory)
    await _restart(scene, host)


async def fail(scene: Scene) -> None:
    """One partition's files cannot be read, or not be written; then somebody sees to it, and starts the broker again."""
    host = scene.random.choice(_brokers(scene))
    directory = _partition(scene, host, busiest=BUSIEST)
    if directory is None:
        return
    faults = host.disk.faults
    broken = scene.random.choice([faults.unreadable, faults.unwritable])
    scene.story.add("disk fails", process=host.name, partition=directory.name, reads=broken is faults.unreadable)
    broken.add(directory)
    await asyncio.sleep(scene.random.uniform(0.5, 5.0))
    broken.discard(directory)
    await _restart(scene, host)


async def lose_directory(scene: Scene) -> None:
    """A broker comes back without the directory of one of the partitions that are there for that.

    With several replicas no other broker loses anything meanwhile: what is left without a proof only a person accepts.
    """

    async def without(host: Host) -> None:
        await host.kill()
        host.lose_directory(TOPIC, scene.random)

    if any(len(partition.replicas) > 1 for partition in scene.image().partitions()):
        await lose_at_one(scene, without)
    else:
        await scene.take_down(without, scene.random.uniform(0.1, 3.0), scene.random.choice(_brokers(scene)))


async def _restart(scene: Scene, host: Host) -> None:
    """Until that has come about: a log that failed takes nothing more."""
    world = host.world
    while host.world is world and world is not None:
        await scene.take_down(Host.kill, scene.random.uniform(0.1, 2.0), host)
        await asyncio.sleep(0.5)


def _brokers(scene: Scene) -> list[Host]:
    return [host for host in scene.hosts if host.role is Role.BROKER]


def _partition(scene: Scene, host: Host, *, busiest: int | None = None) -> Path | None:
    """`busiest`: one of so many that hold the most."""
    found = (path for log_dir in host.log_dirs for path in log_dir.iterdir())
    directories = sorted(path for path in found if path.is_dir() and path.name[-1].isdigit())
    if busiest is not None and scene.random.random() < 0.7:
        directories = sorted(directories, key=_size, reverse=True)[:busiest]
    return scene.random.choice(directories) if directories else None


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.log"))
