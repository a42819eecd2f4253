"""Writes Inputs/written_out/*.onnx: recurrent layers and Python loops that PyTorch's exporters
unroll step by step. Next to each model, an .npz file has the loss and the gradients of PyTorch
in float64.

Run in an environment with torch and onnxscript: python export_written_out.py [NAME...]
"""

import contextlib
import copy
import io
import pathlib
import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

STEPS, SAMPLES, FEATURES, HIDDEN, OUTPUTS = 12, 3, 3, 4, 2
DIRECTORY = pathlib.Path(__file__).parent / "Inputs" / "written_out"


class Layer(nn.Module):
    """nn.RNN followed by a linear layer on some or all of its outputs."""

    def __init__(self, read="all", learns_state=False, **options):
        super().__init__()
        self.rnn = nn.RNN(FEATURES, HIDDEN, **options)
        directions = 2 if self.rnn.bidirectional else 1
        self.head = nn.Linear(HIDDEN * directions, OUTPUTS)
        self.read, self.axis = read, 1 if self.rnn.batch_first else 0
        states = torch.randn(self.rnn.num_layers * directions, 1, HIDDEN)
        self.state = nn.Parameter(states) if learns_state else None

    def forward(self, x, h0=None):
        if self.state is not None:
            h0 = self.state.repeat(1, x.shape[1 - self.axis], 1)
        y, h = self.rnn(x, h0)
        if self.read == "last":
            y = y.select(self.axis, -1)
        elif self.read == "mean":
            y = y.mean(self.axis)
        elif self.read == "final":
            y = h[-1] if self.head.in_features == HIDDEN else torch.cat([h[-2], h[-1]], 1)
        elif self.read == "all and final":
            y = y + h[-1].unsqueeze(self.axis)
        return self.head(y)


class Positions(nn.Module):
    """Adds a different row at every step and reads the sequence in reverse."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.RNNCell(FEATURES, HIDDEN), nn.Linear(HIDDEN, OUTPUTS)
        self.positions = nn.Parameter(torch.randn(STEPS, FEATURES))

    def forward(self, x):
        h, outputs = x.new_zeros(x.shape[0], HIDDEN), []
        for t in reversed(range(STEPS)):
            h = self.cell(x[:, t] + self.positions[t], h)
            outputs.append(h)
        return self.head(torch.stack(outputs, 1))


class Scaled(nn.Module):
    """Scales the input of each step by a different constant; the inputs are selected by index."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(FEATURES, HIDDEN), nn.Linear(HIDDEN, OUTPUTS)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], HIDDEN)
        for t in range(STEPS):
            h = self.cell(torch.index_select(x, 1, torch.tensor([t])).squeeze(1) * (0.5 + t / STEPS), h)
        return self.head(h)


class Gated(nn.Module):
    """The output of a step depends on its state and on slices that the recurrence does not read."""

    def __init__(self):
        super().__init__()
        self.x, self.h, self.gate = nn.Linear(FEATURES, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(FEATURES, HIDDEN)
        self.head = nn.Linear(HIDDEN, OUTPUTS)

    def forward(self, x):
        inputs, gates = self.x(x), torch.sigmoid(self.gate(x))
        h, outputs = x.new_zeros(x.shape[0], HIDDEN), []
        for t in range(STEPS):
            h = torch.relu(inputs[:, t] + self.h(h))
            outputs.append(h * gates[:, t])
        return self.head(torch.stack(outputs, 1))


class Translator(nn.Module):
    """A recurrent encoder and a decoder that reads its own output."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.RNN(FEATURES, HIDDEN), nn.LSTMCell(OUTPUTS, HIDDEN)
        self.head = nn.Linear(HIDDEN, OUTPUTS)

    def forward(self, x):
        h = self.encoder(x)[1][0]
        c, y, outputs = torch.zeros_like(h), x.new_zeros(x.shape[1], OUTPUTS), []
        for _ in range(STEPS):
            h, c = self.decoder(y, (h, c))
            y = self.head(h)
            outputs.append(y)
        return torch.stack(outputs)


torch.manual_seed(0)

# Network, batch axis, and whether initial states are inputs.
NETWORKS = {
    "tanh": (Layer(batch_first=True), 0),
    "relu": (Layer("last", nonlinearity="relu", bias=False, num_layers=2), 1),
    "two_directions": (Layer("mean", num_layers=2, bidirectional=True, batch_first=True, dropout=0.5), 0),
    "three_layers": (Layer("all and final", num_layers=3, batch_first=True), 0, True),
    "learned_state": (Layer("final", learns_state=True, bidirectional=True), 1),
    "positions": (Positions(), 0),
    "scaled": (Scaled(), 0),
    "gated": (Gated(), 0),
    "translator": (Translator(), 1),
}
# Exported with a static batch size: the exporter folds the computations on the zero initial state.
STATIC = {"fixed_batch": (Layer("all", bidirectional=True), 1)}
# Exported with optimize=False.
UNOPTIMIZED = {"unoptimized": (Layer("all", nonlinearity="relu", bidirectional=True, batch_first=True), 0)}


def export(network, arguments, axes, path, is_static, optimize):
    names = ["x", "h0"][: len(arguments)]
    shapes = None if is_static else tuple({axis: torch.export.Dim("B")} for axis in axes)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        torch.onnx.export(
            network, arguments, str(path), dynamo=True, external_data=False, verbose=False, optimize=optimize,
            input_names=names, output_names=["y"], dynamic_shapes=shapes,
        )


def strip(path):
    """Keeps the value info of initializers and drops the metadata of nodes."""
    model = onnx.load(path)
    initializers = {tensor.name for tensor in model.graph.initializer}
    infos = [info for info in model.graph.value_info if info.name in initializers]
    model.graph.ClearField("value_info")
    model.graph.value_info.extend(infos)
    for item in [*model.graph.node, *model.graph.input, *model.graph.output]:
        item.ClearField("metadata_props")
        item.ClearField("doc_string")
    onnx.save(model, path)
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def find_initializers(parameter, initializers):
    """Returns the names and layouts of initializers with a parameter, its transpose or its rows."""
    layouts = [lambda a: a, lambda a: a.T, *((lambda a, t=t: a[t]) for t in range(STEPS) if len(parameter) == STEPS)]
    for layout in layouts:
        value = layout(parameter)
        for name, array in initializers.items():
            if array.shape == value.shape and value.size > 1 and np.array_equal(array, value):
                yield name, layout


def reference(network, arguments, initializers):
    exact = copy.deepcopy(network).double()
    inputs = [a.double().requires_grad_() for a in arguments]
    torch.set_default_dtype(torch.float64)
    y = exact(*inputs)
    torch.set_default_dtype(torch.float32)
    target = np.random.default_rng(4).normal(size=y.shape).astype(np.float32)
    loss = ((y - torch.tensor(target).double()) ** 2).mean()
    loss.backward()
    arrays = {"target": target, "grad/loss": loss.detach().numpy()}
    for name, array in zip(["x", "h0"], inputs):
        arrays[name], arrays["grad/" + name] = array.detach().numpy().astype(np.float32), array.grad.numpy()
    for (name, parameter), own in zip(network.named_parameters(), exact.parameters()):
        found = list(find_initializers(parameter.detach().numpy(), initializers))
        assert found, name
        for initializer, layout in found:
            arrays["grad/" + initializer] = layout(own.grad.numpy())
    return arrays


def main():
    DIRECTORY.mkdir(exist_ok=True)
    for name, (network, axis, *has_state) in (NETWORKS | STATIC | UNOPTIMIZED).items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        network.eval()
        torch.manual_seed(1)
        arguments, axes = [torch.randn((STEPS, SAMPLES, FEATURES) if axis else (SAMPLES, STEPS, FEATURES))], [axis]
        if has_state:
            arguments.append(torch.randn(network.rnn.num_layers, SAMPLES, HIDDEN))
            axes.append(1)
        path = DIRECTORY / f"{name}.onnx"
        export(network, tuple(arguments), axes, path, name in STATIC, name not in UNOPTIMIZED)
        np.savez_compressed(DIRECTORY / f"{name}.npz", **reference(network, arguments, strip(path)))


if __name__ == "__main__":
    main()
