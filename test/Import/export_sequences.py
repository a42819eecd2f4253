"""Writes Inputs/sequences/: scripted modules with loops that append to lists and read them.

PyTorch's older exporter writes the models. Their losses and gradients are computed in float64.

Run in an environment with torch: python export_sequences.py
"""

import pathlib
from typing import List, Tuple

import numpy as np
import onnx
import torch
from torch import Tensor, nn

FOLDER = pathlib.Path(__file__).parent / "Inputs" / "sequences"
STEPS, SAMPLES, FEATURES, HIDDEN = 5, 3, 3, 4


class Gated(nn.Module):
    """A small cell that can be scripted unchanged."""

    def __init__(self, features: int = FEATURES):
        super().__init__()
        self.w = nn.Linear(features, 2 * HIDDEN)
        self.u = nn.Linear(HIDDEN, 2 * HIDDEN, bias=False)

    def forward(self, x, h):
        gate, new = (self.w(x) + self.u(h)).chunk(2, -1)
        z = torch.sigmoid(gate)
        return z * h + (1 - z) * torch.tanh(new)


class Module(nn.Module):
    batch_first = False

    def __init__(self):
        super().__init__()
        self.cell = Gated()


class Appended(Module):
    def forward(self, x, h):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h = self.cell(x[i], h)
            out.append(h)
        return torch.stack(out), h


class BatchFirst(Module):
    batch_first = True

    def forward(self, x, h):
        out: List[Tensor] = []
        for i in range(x.size(1)):
            h = self.cell(x[:, i], h)
            out.append(h.unsqueeze(1))
        return torch.cat(out, 1), h


class SlicedSteps(Module):
    batch_first = True

    def forward(self, x, h):
        out: List[Tensor] = []
        for i in range(x.size(1)):
            h = self.cell(x[:, i : i + 1].squeeze(1), h)
            out.append(h)
        return torch.stack(out, 2), h


class LSTMCells(nn.Module):
    """A loop in which the exporter reorders the gates."""

    batch_first = True

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(FEATURES, HIDDEN)

    def forward(self, x, h):
        c = torch.zeros_like(h)
        out: List[Tensor] = []
        cells: List[Tensor] = []
        for i in range(x.size(1)):
            h, c = self.cell(x[:, i, :], (h, c))
            out.append(h)
            cells.append(c)
        return torch.stack(out, 1) + torch.stack(cells, 1), h


class Unbound(Module):
    def forward(self, x, h):
        inputs = x.unbind(0)
        out: List[Tensor] = []
        for i in range(len(inputs)):
            h = self.cell(inputs[i], h)
            out += [h]
        return torch.stack(out), h


class Zipped(Module):
    def forward(self, x, h):
        out: List[Tensor] = []
        for a, b in zip(x.unbind(0), torch.sigmoid(x).unbind(0)):
            h = self.cell(a * b, h)
            out.append(h)
        return torch.stack(out), h


class Chunks(Module):
    def forward(self, x, h):
        out: List[Tensor] = []
        for part in x.split(1, 0):
            h = self.cell(part.squeeze(0), h)
            out.append(h)
        return torch.cat(out, 0), h


def reversed_list(items: List[Tensor]) -> List[Tensor]:
    out: List[Tensor] = []
    end = len(items)
    for i in range(end):
        out += [items[end - i - 1]]
    return out


class ReversedLists(Module):
    def forward(self, x, h):
        inputs = reversed_list(x.unbind(0))
        out: List[Tensor] = []
        for i in range(len(inputs)):
            h = self.cell(inputs[i], h)
            out += [h]
        return torch.stack(reversed_list(out)), h


class InsertedInFront(Module):
    def forward(self, x, h):
        out: List[Tensor] = []
        for i in range(x.size(0) - 1, -1, -1):
            h = self.cell(x[i], h)
            out.insert(0, h)
        return torch.stack(out), h


class FromSecondStep(Module):
    def forward(self, x, h):
        h = self.cell(x[0], h)
        out: List[Tensor] = [h]
        for i in range(1, x.size(0)):
            h = self.cell(x[i], h) + x[i - 1].sum(1, keepdim=True)
            out.append(h)
        return torch.stack(out), h


class ReadsLast(Module):
    def forward(self, x, h):
        out: List[Tensor] = [h]
        for i in range(x.size(0)):
            out.append(self.cell(x[i], out[-1]))
        return torch.stack(out), out[-1]


class ReadsTwoBack(Module):
    def forward(self, x, h):
        out: List[Tensor] = [h, 2 * h]
        for i in range(x.size(0)):
            out.append(self.cell(x[i], out[i]))
        return torch.stack(out), out[-1]


class TwoEachStep(Module):
    def forward(self, x, h):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            h = self.cell(x[i], h)
            out.append(h)
            out.append(2 * h)
        return torch.stack(out), h


class NestedLoops(Module):
    def forward(self, x, h):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            for _ in range(2):
                h = self.cell(x[i], h)
                out.append(h)
        return torch.stack(out), h


class Layer(nn.Module):
    def __init__(self, features: int):
        super().__init__()
        self.cell = Gated(features)

    def forward(self, x: List[Tensor], h: Tensor) -> Tuple[List[Tensor], Tensor]:
        out: List[Tensor] = []
        for i in range(len(x)):
            h = self.cell(x[i], h)
            out.append(h)
        return out, h


class ReverseLayer(Layer):
    def forward(self, x: List[Tensor], h: Tensor) -> Tuple[List[Tensor], Tensor]:
        out: List[Tensor] = []
        for i in range(len(x)):
            h = self.cell(x[len(x) - 1 - i], h)
            out.insert(0, h)
        return out, h


class Stacked(nn.Module):
    batch_first = False

    def __init__(self):
        super().__init__()
        self.one, self.two = Layer(FEATURES), Layer(HIDDEN)

    def forward(self, x, h):
        layer, first = self.one(x.unbind(0), h)
        layer, second = self.two(layer, h)
        return torch.stack(layer), first + second


class Bidirectional(nn.Module):
    batch_first = False

    def __init__(self):
        super().__init__()
        self.one, self.two = Layer(FEATURES), ReverseLayer(FEATURES)

    def forward(self, x, h):
        parts = x.unbind(0)
        forward, first = self.one(parts, h)
        backward, second = self.two(parts, h)
        out: List[Tensor] = []
        for i in range(len(forward)):
            out.append(torch.cat([forward[i], backward[i]], 1))
        return torch.stack(out), first + second


class ListOfStates(nn.Module):
    """All layers in one loop, which replaces their states in a list."""

    batch_first = False

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Gated(), Gated(HIDDEN)])

    def forward(self, x, h):
        states = [h, h + 1]
        out: List[Tensor] = []
        for t in range(x.size(0)):
            y = x[t]
            for i, cell in enumerate(self.layers):
                states[i] = cell(y, states[i])
                y = states[i]
            out.append(y)
        return torch.stack(out), torch.stack(states).sum(0)


class Splits(nn.Module):
    """Lists without a loop."""

    batch_first = False

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(FEATURES, 8)

    def forward(self, x, h):
        a = self.w(x).split([3, 5], -1)
        b = torch.split(a[1], 2, -1)
        return torch.tanh(a[0]) * b[2] + b[0][..., :1], torch.cat(b, -1).sum(0)[:, :4] + h


# Exported with a fixed and with a dynamic number of steps.
FIXED = (Appended, NestedLoops, ReadsTwoBack, ListOfStates)
DYNAMIC = (BatchFirst, SlicedSteps, LSTMCells, Unbound, Zipped, Chunks, ReversedLists, InsertedInFront,
           FromSecondStep, ReadsLast, ReadsTwoBack, TwoEachStep, NestedLoops, Stacked, Bidirectional, ListOfStates,
           Splits)  # fmt: skip


def inputs(kind, steps, samples):
    numbers = np.random.default_rng(7)
    shape = (samples, steps, FEATURES) if kind.batch_first else (steps, samples, FEATURES)
    return numbers.normal(size=shape), numbers.normal(size=(samples, HIDDEN))


def export(kind, module, path, is_dynamic):
    example = tuple(torch.tensor(a, dtype=torch.float32) for a in inputs(kind, STEPS, 2))
    axes = {"x": {0 if kind.batch_first else 1: "B"}, "h": {0: "B"}}
    if is_dynamic:
        axes["x"][1 if kind.batch_first else 0] = "T"
    torch.onnx.export(
        torch.jit.script(module), example, path, dynamo=False, input_names=["x", "h"], output_names=["y", "hn"],
        dynamic_axes=axes, opset_version=17, do_constant_folding=False,
    )  # fmt: skip
    model = onnx.load(path)
    for node in model.graph.node:
        node.doc_string = ""
    onnx.save(model, path)


def reference(kind, module, steps):
    """Returns the arrays, and the loss and gradients in float64."""
    x, h = (a.astype(np.float32) for a in inputs(kind, steps, SAMPLES))
    wide = module.double()
    given = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, h)]
    y, _ = wide(*given)
    target = np.random.default_rng(8).normal(size=tuple(y.shape)).astype(np.float32)
    loss = ((y - torch.tensor(target, dtype=torch.float64)) ** 2).mean()
    loss.backward()
    gradients = {"x": given[0].grad, "h": given[1].grad} | {n: p.grad for n, p in wide.named_parameters()}
    found = {f"grad:{name}": gradient.numpy() for name, gradient in gradients.items() if gradient is not None}
    return {"x": x, "h": h, "target": target, "loss": loss.item()} | found


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for label, kinds, steps in (("fixed", FIXED, STEPS), ("dynamic", DYNAMIC, STEPS + 2)):
        for kind in kinds:
            torch.manual_seed(1)
            module = kind().eval()
            name = f"{kind.__name__}_{label}"
            export(kind, module, FOLDER / f"{name}.onnx", label == "dynamic")
            for key, value in reference(kind, module, steps).items():
                arrays[f"{name}/{key}"] = value
    np.savez_compressed(FOLDER / "references.npz", **arrays)


if __name__ == "__main__":
    main()
