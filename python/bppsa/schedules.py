# Part of the bppsa project, under the MIT License.
"""Learning-rate schedules, as ``--lr-schedule`` of a compiled program describes them."""

import dataclasses
import math

from bppsa.errors import Error


@dataclasses.dataclass(frozen=True)
class Schedule:
    """``constant``, ``step:N:GAMMA``, ``cosine[:MIN]`` or ``plateau[:FACTOR[:N]]``, with or without
    ``warmup:N,`` before it."""

    kind: str = "constant"
    warmup: int = 0
    every: int = 10
    gamma: float = 0.1
    minimum: float = 0.0

    @staticmethod
    def parse(text: str) -> "Schedule":
        *warmups, last = text.split(",")
        try:
            if len(warmups) > 1:
                raise ValueError
            warmup = _parse_warmup(warmups[0]) if warmups else 0
            if last.startswith("warmup:") and not warmups:
                return Schedule(warmup=_parse_warmup(last))
            return dataclasses.replace(_parse_kind(*last.split(":")), warmup=warmup)
        except (TypeError, ValueError):
            raise Error(
                f"lr_schedule: found '{text}', expected constant, step:N:GAMMA, cosine[:MIN] or "
                "plateau[:FACTOR[:N]], with or without warmup:N, before it"
            ) from None

    def rate(self, base: float, step: int, per_epoch: int, total: int) -> float:
        """The rate of step ``step`` (from 0) of ``total``."""
        rate = base
        if self.kind == "step":
            rate = base * self.gamma ** (step // per_epoch // self.every)
        if self.kind == "cosine":
            done = min(step, total - 1) / (total - 1) if total > 1 else 0
            rate = self.minimum + (base - self.minimum) * 0.5 * (1 + math.cos(math.pi * done))
        return rate * (step + 1) / self.warmup if step < self.warmup else rate

    def plateau_scale(self, losses: list[float]) -> float:
        """What the rate is multiplied with after epochs of these losses."""
        scale, best, others = 1.0, math.inf, 0
        for loss in losses if self.kind == "plateau" else ():
            # What PyTorch takes for an improvement.
            is_better = loss < best * (1 - 1e-4) or math.isinf(best)
            best, others = (loss, 0) if is_better else (best, others + 1)
            if others > self.every:
                scale, others = scale * self.gamma, 0
        return scale


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError
    return count


def _parse_warmup(text: str) -> int:
    word, count = text.split(":")
    if word != "warmup":
        raise ValueError
    return _count(count)


def _parse_kind(word: str, *numbers: str) -> Schedule:
    if word == "constant" and not numbers:
        return Schedule()
    if word == "step":
        every, factor = numbers
        return Schedule("step", every=_count(every), gamma=float(factor))
    if word == "cosine" and len(numbers) <= 1:
        return Schedule("cosine", minimum=float(numbers[0]) if numbers else 0.0)
    if word == "plateau" and len(numbers) <= 2:
        gamma = float(numbers[0]) if numbers else 0.1
        if not 0 < gamma < 1:
            raise ValueError
        return Schedule("plateau", gamma=gamma, every=_count(numbers[1]) if numbers[1:] else 10)
    raise ValueError
