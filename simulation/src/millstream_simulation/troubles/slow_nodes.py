"""A host on which everything takes longer: it answers, its heartbeats come, and all of it is late."""

import asyncio

from millstream_simulation.troubles.scene import Scene


async def slow_node(scene: Scene) -> None:
    host = scene.random.choice(scene.hosts)
    slowness_s = scene.random.choice([0.001, 0.005, 0.02])
    scene.story.add("slow node", host=host.name, slowness_s=slowness_s)
    scene.story.note("node slow")
    host.pace.slowness_s = slowness_s
    await asyncio.sleep(scene.random.uniform(2.0, 12.0))
    host.pace.slowness_s = 0.0
    scene.story.add("node well again", host=host.name)
