"""A query's lag and throughput, batch by batch, as a picture that a notebook shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from millstream_spark.lag import lag_of

WIDTH, HEIGHT, LEFT, TOP = 640, 110, 110, 24


@dataclass(frozen=True, slots=True)
class Picture:
    svg: str

    def _repr_svg_(self) -> str:
        """What Jupyter asks for."""
        return self.svg


def plot_progress(query: StreamingQuery) -> Picture:
    """Of the batches that Spark still remembers, a hundred by default."""
    batches = [progress for progress in query.recentProgress if progress.numInputRows]
    rates = [each.numInputRows * 1000 / max(1, each.durationMs.get("triggerExecution", 0)) for each in batches]
    return draw({"lag, records": [lag_of(each) for each in batches], "records a second": rates})


def draw(lines: dict[str, Sequence[float]]) -> Picture:
    """Draw lines below each other over the same batches."""
    panels = [
        _panel(title, values, TOP + number * (HEIGHT + TOP)) for number, (title, values) in enumerate(lines.items())
    ]
    height = TOP + len(lines) * (HEIGHT + TOP)
    size = f'width="{LEFT + WIDTH + 20}" height="{height}"'
    text = 'font-family="sans-serif" font-size="12" fill="#444"'
    return Picture(f'<svg xmlns="http://www.w3.org/2000/svg" {size} {text}>{"".join(panels)}</svg>')


def _panel(title: str, values: Sequence[float], top: int) -> str:
    highest, bottom = max(values, default=0) or 1, top + HEIGHT
    step = WIDTH / max(1, len(values) - 1)
    points = " ".join(
        f"{LEFT + n * step:.1f},{bottom - value / highest * HEIGHT:.1f}" for n, value in enumerate(values)
    )
    end = 'text-anchor="end"'
    return (
        f'<text x="{LEFT - 8}" y="{top + 10}" {end}>{highest:,.0f}</text><text x="{LEFT - 8}" y="{bottom}" {end}>0</text>'
        f'<text x="{LEFT}" y="{top - 8}">{title}; {len(values)} batches</text>'
        f'<path d="M{LEFT},{top}V{bottom}H{LEFT + WIDTH}" fill="none" stroke="#bbb"/>'
        f'<polyline points="{points}" fill="none" stroke="#2a6fbb" stroke-width="2"/>'
    )
