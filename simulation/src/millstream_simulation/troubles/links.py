"""Links that are bad in one direction or between two hosts only: everybody else finds nothing wrong."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from millstream_simulation.troubles.scene import Scene


async def cut_one_way(scene: Scene) -> None:
    """What one host says does not reach another, which it hears."""
    sender = scene.random.choice(scene.hosts)
    others = [host.name for host in scene.hosts if host is not sender]
    if others:
        await _unheard(scene, sender.name, [scene.random.choice(others)])


async def silence(scene: Scene) -> None:
    """What one host says does not reach anybody of its peers, all of whom it hears."""
    sender = scene.random.choice(scene.hosts)
    others = [host.name for host in scene.hosts if host is not sender]
    if others:
        scene.story.note("host heard by nobody")
        await _unheard(scene, sender.name, others)


async def _unheard(scene: Scene, sender: str, receivers: Sequence[str]) -> None:
    scene.story.add("cut one way", sender=sender, receivers=receivers)
    scene.story.note("link cut in one direction")
    for receiver in receivers:
        scene.network.cut_one_way(sender, receiver)
    await asyncio.sleep(scene.random.uniform(1.0, 14.0))
    for receiver in receivers:
        scene.network.mend(sender, receiver)
    scene.story.add("mended one way", sender=sender)


async def slow_link(scene: Scene) -> None:
    """Everything arrives between two hosts, late."""
    one, other = _pair(scene)
    lowest_ms = scene.random.choice([5.0, 50.0, 300.0])
    slow = replace(scene.calm, delay_ms=(lowest_ms, 3 * lowest_ms))
    scene.story.add("slow link", one=one, other=other, lowest_ms=lowest_ms)
    scene.story.note("link slow between two hosts")
    links = scene.network.links
    links[one, other] = links[other, one] = slow
    await asyncio.sleep(scene.random.uniform(2.0, 12.0))
    links.pop((one, other), None)
    links.pop((other, one), None)
    scene.story.add("link well again", one=one, other=other)


async def breaking_link(scene: Scene) -> None:
    """Connections between two hosts break again and again, before or after what they carried."""
    one, other = _pair(scene)
    scene.story.add("breaking link", one=one, other=other)
    scene.story.note("link whose connections break")
    links = scene.network.links
    links[one, other] = links[other, one] = replace(scene.calm, break_probability=scene.random.choice([0.05, 0.2, 0.5]))
    await asyncio.sleep(scene.random.uniform(1.0, 8.0))
    links.pop((one, other), None)
    links.pop((other, one), None)
    scene.story.add("link well again", one=one, other=other)


def _pair(scene: Scene) -> tuple[str, str]:
    one, other = scene.random.sample([*(host.name for host in scene.hosts), *scene.others], 2)
    return one, other
