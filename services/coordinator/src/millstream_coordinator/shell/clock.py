"""The time by which groups live: starts at the wall clock's and never jumps, whatever is done to that clock."""

from millstream_runtime.world import World


class SteadyClock:
    """Sessions must not end because somebody set the clock, yet what is stored has to mean something to others."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ahead_ms = world.now_ms() - world.monotonic_ms()

    def now_ms(self) -> int:
        return self._world.monotonic_ms() + self._ahead_ms
