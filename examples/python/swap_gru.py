# Part of the bppsa project, under the MIT License.
"""An ordinary training loop of PyTorch, with torch.nn.GRU and with bppsa.torch.GRU in its place.

    python examples/python/swap_gru.py [--steps N] [--length T]
"""

import argparse
import time

import bppsa.torch
import torch


def train(layer, steps, length):
    """The losses of a classifier of sequences, and the seconds that they took."""
    torch.manual_seed(0)
    recurrent = layer(12, 20)
    head = torch.nn.Linear(20, 11)
    optimizer = torch.optim.Adam([*recurrent.parameters(), *head.parameters()], lr=1e-3)
    x, target = torch.randn(length, 16, 12), torch.randint(0, 11, (16,))
    recurrent(x)  # compiles
    begin, losses = time.perf_counter(), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(head(recurrent(x)[0][-1]), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--length", type=int, default=1000)
    options = parser.parse_args()
    for layer in (torch.nn.GRU, bppsa.torch.GRU):
        losses, seconds = train(layer, options.steps, options.length)
        name = f"{layer.__module__.split('.')[0]}.{layer.__name__}"
        print(f"{name:>10}  loss {losses[0]:.6f} -> {losses[-1]:.6f}  {seconds:.2f} s")


if __name__ == "__main__":
    main()
