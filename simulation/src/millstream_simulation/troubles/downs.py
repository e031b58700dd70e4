"""Processes that end: killed, or told to stop. They come back."""

from millstream_simulation.host import Host
from millstream_simulation.troubles.scene import Scene


async def kill(scene: Scene) -> None:
    """Without a word."""
    await scene.take_down(Host.kill, scene.random.uniform(0.1, 12.0))


async def stop(scene: Scene) -> None:
    await scene.take_down(Host.stop, scene.random.uniform(0.1, 5.0))
