"""Draws a run as a picture: `bench/picture.py RUN.json PICTURE.svg`, of what `make bench ARGS="--json RUN.json"` wrote.

A bar for each row: what our servers take of what Apache Kafka's take in the same run, medians; a thin line from our smallest to our largest.
"""

import json
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

from cases import Done
from report import COLUMNS, Measurement

OURS, KAFKA = "millstream", "kafka"
_MORE_IS_LESS = "requests/CPU-s"
"""The one figure that is better when it is larger; drawn as its inverse, processor time for a request."""
_ROWS = (
    ("from start to the first acknowledged record", "first ack s", "start to the first acknowledged record"),
    ("100 B, 1 in flight", _MORE_IS_LESS, "processor time, 100 B, one in flight"),
    ("100 B, 64 in flight", _MORE_IS_LESS, "processor time, 100 B, 64 in flight"),
    ("16 KB of 1 KiB records, 5 in flight", "CPU-s/GB", "processor time, batches of 16 KB"),
    ("librdkafka, 100 B, linger 5 ms", "CPU-s/GB", "processor time, librdkafka, 100 B"),
    ("librdkafka, 1 KiB, linger 5 ms", "CPU-s/GB", "processor time, librdkafka, 1 KiB"),
    ("fetching 1 KiB back, librdkafka", "CPU-s/GB", "processor time, fetching 1 KiB"),
    ("end to end at 1,000/s, librdkafka", "p50 ms", "end to end at 1,000/s, median"),
    ("end to end at 1,000/s, librdkafka", "p99 ms", "end to end at 1,000/s, 99th percentile"),
    ("end to end at 10,000/s, librdkafka", "p50 ms", "end to end at 10,000/s, median"),
    ("end to end at 10,000/s, librdkafka", "p99 ms", "end to end at 10,000/s, 99th percentile"),
    ("librdkafka, 1 KiB, linger 5 ms", "RSS MB", "memory under load"),
)
_STEP, _TOP, _LEFT, _SCALE, _MOST = 26, 62, 290, 270, 2.0
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.dim{fill:#57606a}.ours{fill:#0969da}.worse{fill:#bc4c00}"
    "line{stroke:#57606a}.grid{stroke:#d0d7de}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#8d96a0}.ours{fill:#4493f8}.worse{fill:#f0883e}"
    "line{stroke:#8d96a0}.grid{stroke:#30363d}}"
)


@dataclass(frozen=True, slots=True)
class Bar:
    text: str
    share: float
    least: float
    most: float


def bars_of(measurements: list[Measurement]) -> list[Bar]:
    """Only of rows that both were measured in."""
    value_of = {column.title: column.value for column in COLUMNS}
    bars = []
    for case, title, text in _ROWS:
        by_server: dict[str, list[float]] = {OURS: [], KAFKA: []}
        for each in measurements:
            value = value_of[title](each) if each.case == case and each.server in by_server else None
            if value is not None:
                by_server[each.server].append(1 / value if title == _MORE_IS_LESS else value)
        if all(by_server.values()):
            compared = median(by_server[KAFKA])
            ours = [value / compared for value in by_server[OURS]]
            bars.append(Bar(text, median(ours), min(ours), max(ours)))
    return bars


def picture(bars: list[Bar], title: str) -> str:
    height = _TOP + _STEP * len(bars) + 16
    width = int(_LEFT + _SCALE * _MOST + 70)
    drawn = [_bar(bar, _TOP + _STEP * index) for index, bar in enumerate(bars)]
    marks = []
    for share in (0.5, 1.0, 1.5, 2.0):
        x = _LEFT + share * _SCALE
        marks.append(f'<line class="grid" x1="{x:g}" x2="{x:g}" y1="{_TOP - 8}" y2="{height - 12}"/>')
        text = "100% is Apache Kafka" if share == 1 else f"{share:.0%}"
        marks.append(f'<text class="dim" x="{x:g}" y="{_TOP - 14}" text-anchor="middle">{text}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<text x="8" y="22" font-weight="600">{escape(title)}</text>' + "".join(marks + drawn) + "</svg>\n"
    )


def _bar(bar: Bar, y: int) -> str:
    length = min(bar.share, _MOST) * _SCALE
    kind = "ours" if bar.share <= 1 else "worse"
    least, most = (_LEFT + min(each, _MOST) * _SCALE for each in (bar.least, bar.most))
    shown = f"{bar.share:.0%}" if bar.share >= 0.01 else "under 1%"
    return (
        f'<text x="{_LEFT - 10}" y="{y + 13}" text-anchor="end">{escape(bar.text)}</text>'
        f'<rect class="{kind}" x="{_LEFT}" y="{y + 2}" width="{max(length, 1):.1f}" height="14" rx="2"/>'
        f'<line x1="{least:.1f}" x2="{most:.1f}" y1="{y + 9}" y2="{y + 9}"/>'
        f'<text x="{max(_LEFT + length, most) + 8:.1f}" y="{y + 13}">{shown}</text>'
    )


def main() -> None:
    run, target = Path(sys.argv[1]), Path(sys.argv[2])
    measured = [Measurement(**{**each, "done": Done(**each["done"])}) for each in json.loads(run.read_text())]
    target.write_text(
        picture(
            bars_of(measured),
            "Three brokers, three replicas, acks=all: what Millstream takes of what Kafka takes; less is better",
        )
    )


if __name__ == "__main__":
    main()
