"""One of a broker's data directories fails as a whole, as a disk of its own does, or is replaced by an empty one."""

import asyncio

from millstream.roles import Role
from millstream_simulation.host import Host
from millstream_simulation.troubles.replicas import lose_at_one
from millstream_simulation.troubles.scene import Scene

SHORT_S, LONG_S = (0.5, 5.0), (12.0, 25.0)
"""In the longer time what was in it may be made again elsewhere."""


async def fail_log_dir(scene: Scene) -> None:
    """It is well again after a while, which its broker finds out at its next start."""
    host = scene.random.choice([host for host in scene.hosts if host.role is Role.BROKER])
    dead = host.disk.faults.dead
    if dead or host.name in scene.down:
        return  # with another disk replaced meanwhile it could not tell who it is
    log_dir = scene.random.choice(host.log_dirs)
    scene.story.add("log directory fails", process=host.name, path=log_dir.name)
    dead.add(log_dir)
    await asyncio.sleep(scene.random.uniform(*scene.random.choice([SHORT_S, LONG_S])))
    end = scene.random.choice([Host.kill, Host.stop])
    world = host.world
    dead.discard(log_dir)
    scene.story.add("log directory well again", process=host.name, path=log_dir.name)
    while host.world is world and world is not None:
        await scene.take_down(end, scene.random.uniform(0.1, 3.0), host)
        await asyncio.sleep(0.5)


async def replace_log_dir(scene: Scene) -> None:
    """A broker comes back with one of its directories empty; everybody else has everything, and no other loses anything meanwhile."""

    async def without(host: Host) -> None:
        await host.kill()
        if not host.disk.faults.dead:
            host.replace_log_dir(scene.random.choice(host.log_dirs))

    if all(len(partition.replicas) > 1 for partition in scene.image().partitions()):
        await lose_at_one(scene, without)
