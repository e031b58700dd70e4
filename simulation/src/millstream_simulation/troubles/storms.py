"""A network at its worst, for everybody."""

import asyncio
from dataclasses import replace

from millstream_simulation.troubles.scene import Scene


async def storm(scene: Scene) -> None:
    """For a while connections break and frames crawl."""
    scene.story.add("storm")
    scene.story.note("network storm")
    scene.network.conditions = replace(scene.calm, break_probability=0.02, slow_probability=0.2)
    await asyncio.sleep(scene.random.uniform(0.5, 6.0))
    scene.network.conditions = scene.calm
    scene.story.add("storm over")
