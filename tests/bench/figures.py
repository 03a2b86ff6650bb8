"""What was measured: samples by workload, measure and saver."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Figures:
    """Raw samples. A table shows medians, the JSON file everything."""

    machine: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    series: dict[str, dict[str, list[tuple[int, float]]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    fsync_ms: dict[str, float] = field(default_factory=dict)

    def add(self, workload: str, measure: str, saver: str, *values: float) -> None:
        measures = self.samples.setdefault(workload, {})
        measures.setdefault(measure, {}).setdefault(saver, []).extend(values)

    def plot(self, panel: str, saver: str, turn: int, value: float) -> None:
        """A point for the picture."""
        self.series.setdefault(panel, {}).setdefault(saver, []).append((turn, value))

    def median(self, workload: str, measure: str, saver: str) -> float | None:
        values = self.samples.get(workload, {}).get(measure, {}).get(saver)
        return statistics.median(values) if values else None

    def ratio(self, workload: str, measure: str, saver: str, to: str) -> float | None:
        mine, theirs = self.median(workload, measure, saver), self.median(workload, measure, to)
        return mine / theirs if mine is not None and theirs else None

    def save(self, path: Path, **more: Any) -> None:
        path.write_text(json.dumps({**vars(self), **more}, indent=1) + "\n", encoding="utf-8")
