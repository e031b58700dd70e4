"""Metrics as Prometheus reads them: families of samples, and their text (exposition format 0.0.4)."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Family:
    """One metric and its samples, in the order in which they are added; labels by name."""

    def __init__(self, kind: Kind, name: str, about: str) -> None:
        self._kind = kind
        self._name = f"{name}_total" if kind is Kind.COUNTER else name
        self._about = about
        self._samples: list[str] = []

    def add(self, value: float, **labels: str) -> None:
        self._add(self._name, labels, value)

    def add_histogram(self, bounds: Sequence[float], counts: Sequence[int], total: float, **labels: str) -> None:
        """`counts` are of the values up to each bound and above the one before; the last, of those above all bounds."""
        seen = 0
        for bound, count in zip([*map(str, bounds), "+Inf"], counts, strict=True):
            seen += count
            self._add(f"{self._name}_bucket", {**labels, "le": bound}, seen)
        self._add(f"{self._name}_count", labels, seen)
        self._add(f"{self._name}_sum", labels, total)

    def text(self) -> str:
        about = self._about.replace("\\", r"\\").replace("\n", r"\n")
        head = f"# HELP {self._name} {about}\n# TYPE {self._name} {self._kind}\n"
        return head + "".join(self._samples)

    def _add(self, name: str, labels: Mapping[str, str], value: float) -> None:
        told = ",".join(f'{label}="{_escaped(labels[label])}"' for label in sorted(labels))
        self._samples.append(f"{name}{{{told}}} {float(value)!r}\n" if told else f"{name} {float(value)!r}\n")


class Collector(Protocol):
    """Who has something to show: asked at each scrape."""

    def collect(self) -> Iterable[Family]: ...


def gauge(name: str, about: str, value: float, **labels: str) -> Family:
    """A family of one sample."""
    return _single(Kind.GAUGE, name, about, value, labels)


def counter(name: str, about: str, value: float, **labels: str) -> Family:
    """A family of one sample; its name gets `_total`."""
    return _single(Kind.COUNTER, name, about, value, labels)


def _single(kind: Kind, name: str, about: str, value: float, labels: Mapping[str, str]) -> Family:
    family = Family(kind, name, about)
    family.add(value, **labels)
    return family


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
