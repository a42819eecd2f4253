# Part of the bppsa project, under the MIT License.
"""Measures a training step of nn.RNN, nn.GRU or nn.LSTM with a linear head, on the CPU."""

import os
import statistics
import time

import torch

from shapes import CLASSES
from worker import serve


class Model(torch.nn.Module):
    def __init__(self, cell, features, hidden, layers, directions):
        super().__init__()
        self.layer = getattr(torch.nn, cell.upper())(
            features, hidden, layers, bidirectional=directions > 1
        )
        self.head = torch.nn.Linear(directions * hidden, CLASSES)

    def forward(self, x):
        return self.head(self.layer(x)[0][-1])


def _prepare(request):
    torch.manual_seed(1)
    names = ("cell", "features", "hidden", "layers", "directions")
    model = Model(*(request[name] for name in names))
    x = torch.rand(request["steps"], request["batch"], request["features"])
    target = torch.arange(request["batch"]) % CLASSES
    # The fused optimizer is PyTorch's fastest on the CPU.
    return model, torch.optim.Adam(model.parameters(), lr=1e-3, fused=True), x, target


def _step(model, optimizer, x, target):
    """Returns microseconds of forward with loss, backward, update and the whole step."""
    start = time.perf_counter()
    loss = torch.nn.functional.cross_entropy(model(x), target)
    forward = time.perf_counter()
    optimizer.zero_grad()
    loss.backward()
    backward = time.perf_counter()
    optimizer.step()
    end = time.perf_counter()
    return [
        1e6 * (b - a)
        for a, b in ((start, forward), (forward, backward), (backward, end), (start, end))
    ]


def time_steps(model, optimizer, x, target, repeat):
    """Returns medians over `repeat` steps after one warm-up step."""
    _step(model, optimizer, x, target)
    columns = zip(*(_step(model, optimizer, x, target) for _ in range(repeat)))
    names = ("forward_us", "backward_us", "update_us", "step_us")
    return dict(zip(names, map(statistics.median, columns)))


def measure(request):
    return dict(time_steps(*_prepare(request), request["repeat"]), variant="eager")


if __name__ == "__main__":
    threads = int(os.environ["BENCH_THREADS"])
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    serve({"pytorch": torch.__version__}, measure)
