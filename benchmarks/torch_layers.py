# Part of the bppsa project, under the MIT License.
"""Compares layers of bppsa.torch with torch.nn in the same training loop, in interleaved rounds.

    PYTHONPATH=build/python python benchmarks/torch_layers.py [--rounds N] [--threads N]

Prints a line of JSON for each case: both medians in milliseconds per step, and their ratio.
"""

import argparse
import json
import statistics
import time

import bppsa.torch
import torch

# Layer type, features, units, T, B.
CASES = [
    ("LSTM", 64, 128, 1000, 16),
    ("LSTM", 64, 128, 200, 16),
    ("GRU", 12, 20, 1000, 16),
    ("RNN", 1, 20, 1000, 16),
]


class Loop:
    """Steps of Adam on a recurrent layer followed by a linear layer."""

    def __init__(self, layer: torch.nn.Module, features: int, units: int, steps: int, samples: int):
        torch.manual_seed(0)
        self.layer, self.head = layer, torch.nn.Linear(units, 11)
        self.optimizer = torch.optim.Adam([*layer.parameters(), *self.head.parameters()])
        self.x = torch.randn(steps, samples, features)
        self.target = torch.randint(0, 11, (samples,))

    def step(self) -> float:
        """Runs one step and returns its seconds."""
        begin = time.perf_counter()
        self.optimizer.zero_grad()
        logits = self.head(self.layer(self.x)[0][-1])
        torch.nn.functional.cross_entropy(logits, self.target).backward()
        self.optimizer.step()
        return time.perf_counter() - begin


def measure(kind: str, features: int, units: int, steps: int, samples: int, rounds: int) -> dict:
    loops = {
        library: Loop(getattr(package, kind)(features, units), features, units, steps, samples)
        for library, package in (("bppsa", bppsa.torch), ("torch", torch.nn))
    }
    times: dict[str, list[float]] = {library: [] for library in loops}
    for turn in range(rounds + 1):
        for library, loop in loops.items():
            seconds = loop.step()
            if turn > 0:  # The first turn compiles and warms up.
                times[library].append(seconds)
    medians = {library: 1e3 * statistics.median(seconds) for library, seconds in times.items()}
    case = f"{kind} I={features} H={units} T={steps} B={samples}"
    ratio = medians["torch"] / medians["bppsa"]
    return {"case": case, **{k: round(v, 2) for k, v in medians.items()}, "ratio": round(ratio, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for case in CASES:
        print(json.dumps(measure(*case, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
