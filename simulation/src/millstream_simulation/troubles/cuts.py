"""Hosts that do not reach each other for a while."""

import asyncio

from millstream_simulation.troubles.scene import Scene


async def cut(scene: Scene) -> None:
    names = [*(host.name for host in scene.hosts), *scene.others]
    one, other = scene.random.sample(names, 2)
    scene.story.add("cut", one=one, other=other)
    scene.story.note("link cut")
    scene.network.cut(one, other)
    await asyncio.sleep(scene.random.uniform(0.5, 10.0))
    scene.network.mend(one, other)
    scene.story.add("mended", one=one, other=other)


async def isolate(scene: Scene) -> None:
    """One host loses all its peers while clients still reach it: it has to find out that it was replaced."""
    host = scene.random.choice(scene.hosts)
    peers = [each.name for each in scene.hosts if each is not host]
    scene.story.add("isolated", process=host.name)
    scene.story.note("host isolated")
    for peer in peers:
        scene.network.cut(host.name, peer)
    await asyncio.sleep(scene.random.uniform(2.0, 9.0))
    for peer in peers:
        scene.network.mend(host.name, peer)
    scene.story.add("rejoined", process=host.name)
