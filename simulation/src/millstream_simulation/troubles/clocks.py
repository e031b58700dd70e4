"""Wall clocks that somebody sets, forwards or back."""

from millstream_simulation.troubles.scene import Scene

JUMPS_MS = (-60_000, -5_000, -300, 300, 5_000, 60_000)


async def jump(scene: Scene) -> None:
    """It stays as it was set: nobody promised that wall clocks agree."""
    host = scene.random.choice(scene.hosts)
    by_ms = scene.random.choice(JUMPS_MS)
    scene.story.add("clock set", host=host.name, by_ms=by_ms)
    scene.story.note("clock set back" if by_ms < 0 else "clock set forward")
    host.clock.jump(by_ms)
