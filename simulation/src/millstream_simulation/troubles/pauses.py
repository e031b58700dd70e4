"""Processes that stand still for a while and do not know it."""

from millstream_simulation.troubles.scene import Scene


async def pause(scene: Scene) -> None:
    host = scene.random.choice(scene.hosts)
    if host.up and host.name not in scene.down:
        host.pause(scene.random.uniform(1.0, 9.0))
