"""The time of trouble: draws one kind after another (troubles/) and lets it happen, several at once.

Everything that breaks is mended again, so that what must hold in the end can be asked for.
"""

import asyncio
from collections.abc import Awaitable, Sequence

from millstream_simulation.troubles import TROUBLES
from millstream_simulation.troubles.scene import Scene

PAUSE_S = (0.5, 6.0)
"""From the beginning of one trouble to that of the next."""


async def trouble(scene: Scene, kinds: Sequence[str], duration_s: float) -> None:
    """Return when the last of it is mended."""
    loop = asyncio.get_running_loop()
    end = loop.time() + duration_s
    choices = [TROUBLES[kind] for kind in kinds for _ in range(TROUBLES[kind].weight)]
    async with asyncio.TaskGroup() as tasks:
        while loop.time() < end:
            await asyncio.sleep(scene.random.uniform(*PAUSE_S))
            tasks.create_task(_strike(scene.random.choice(choices).strike(scene)))
    scene.network.heal()
    scene.network.conditions = scene.calm
    for kind in kinds:
        TROUBLES[kind].settle(scene)
    scene.story.add("trouble over")


async def _strike(happening: Awaitable[None]) -> None:
    await happening
