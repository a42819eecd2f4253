"""Writes Inputs/untrained: models with parameters that have no gradient, or that share an
initializer with running statistics.

NAME.npz has PyTorch's gradients of the mean squared error in float64. Parameters whose gradient
is None in PyTorch are not in the file.
"""

import pathlib

import numpy as np
import torch
from torch import nn
from torch._higher_order_ops.scan import scan

INPUTS = pathlib.Path(__file__).parent / "Inputs" / "untrained"


class SpikingCell(nn.Module):
    """A leaky integrate-and-fire cell: only parameters of the head have a gradient."""

    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(3, 4)
        self.rec = nn.Linear(4, 4, bias=False)
        self.head = nn.Linear(4, 2)

    def step(self, v, z, x):
        v = 0.8 * v * (1 - z) + self.inp(x) + self.rec(z)
        return v, (v > 0.5).to(x.dtype)

    def forward(self, x, v, z):
        v, z = self.step(v, z, x)
        return self.head(z), v, z


class SpikingScan(SpikingCell):
    """SpikingCell in a loop, with a learned initial state."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.full((4,), 0.1))

    def forward(self, x):
        def body(carry, x):
            v, z = self.step(*carry, x)
            return (v, z), z.clone()

        start = self.start.expand(x.shape[1], 4).clone()
        _, spikes = scan(body, (start, torch.zeros_like(start)), x)
        return self.head(spikes)


class LeakyScan(SpikingScan):
    """A loop that outputs spikes and membrane potential, so that gradients reach the cell."""

    def forward(self, x):
        def body(carry, x):
            v, z = self.step(*carry, x)
            return (v, z), z + 0.1 * v

        start = self.start.expand(x.shape[1], 4).clone()
        _, spikes = scan(body, (start, torch.zeros_like(start)), x)
        return self.head(spikes)


class Steps(nn.Module):
    """Parameters before piecewise constant operations, except `smooth`, `table` and `head`."""

    def __init__(self):
        super().__init__()
        for name in ("sign", "round", "floor", "ceil", "trunc", "equal", "index", "where", "smooth", "cast"):
            self.register_parameter(name, nn.Parameter(torch.randn(4)))
        self.table = nn.Parameter(torch.randn(4, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        y = torch.sign(x * self.sign) + torch.round(x + self.round) + torch.floor(x * self.floor)
        y = y + torch.ceil(x - self.ceil) + torch.trunc(x * self.trunc) + (x + self.cast).to(torch.int64).to(x.dtype)
        y = y + self.table[torch.argmax(x * self.index, 1)] + torch.where(x > self.where, x * self.smooth, x)
        return self.head(y + (self.equal == 0).to(x.dtype))


class TwoHeads(nn.Module):
    """Two outputs; the loss is on the first one."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 4)
        self.first = nn.Linear(4, 2)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        hidden = torch.tanh(self.body(x))
        return self.first(hidden), self.second(hidden)


class FreshNorms(nn.Module):
    """Untrained normalizations; the exporter merges all their ones, and all their zeros."""

    def __init__(self):
        super().__init__()
        self.ln = nn.LayerNorm(4)
        self.b = nn.BatchNorm1d(4)
        self.c = nn.BatchNorm1d(4)
        self.inn = nn.InstanceNorm1d(4, affine=True)
        self.gn = nn.GroupNorm(2, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        y = self.c(torch.tanh(self.b(x)))
        y = self.inn(y) + self.gn(x)
        return self.head(self.ln(y.transpose(1, 2)))


class ZeroScale(nn.Module):
    """A scale of zeros, as at the start of residual blocks: equal to the bias and the mean."""

    def __init__(self):
        super().__init__()
        self.b = nn.BatchNorm1d(3)
        self.rnn = nn.GRU(3, 4, batch_first=True)
        nn.init.zeros_(self.b.weight)

    def forward(self, x):
        return self.rnn(x + self.b(x.transpose(1, 2)).transpose(1, 2))[0]


B = torch.export.Dim("B")
# The class, the shapes of inputs, and the batch axis.
MODELS = {
    "spiking_cell": (SpikingCell, ((2, 3), (2, 4), (2, 4)), 0),
    "spiking_scan": (SpikingScan, ((5, 2, 3),), 1),
    "leaky_scan": (LeakyScan, ((5, 2, 3),), 1),
    "steps": (Steps, ((3, 4),), 0),
    "two_heads": (TwoHeads, ((3, 3),), 0),
    "fresh_norms": (FreshNorms, ((3, 4, 5),), 0),
    "zero_scale": (ZeroScale, ((3, 5, 3),), 0),
}


def take_gradients(module, inputs, target):
    module.zero_grad(set_to_none=True)
    outputs = module(*inputs)
    outputs = outputs[0] if isinstance(outputs, tuple) else outputs
    loss = ((outputs - target) ** 2).mean()
    loss.backward()
    found = {name: parameter.grad for name, parameter in module.named_parameters()}
    return loss.detach(), {name: gradient.numpy() for name, gradient in found.items() if gradient is not None}


def save_constants():
    """Saves a tanh layer and a linear one; test_constant_weights.py builds the models."""
    torch.manual_seed(0)
    shapes = {"W": (3, 4), "R": (4, 4), "B": (4,), "V": (4, 2), "b": (2,)}
    weights = {name: torch.randn(shape).double().requires_grad_() for name, shape in shapes.items()}
    x, target = torch.randn(5, 3, 3), torch.randn(3, 2)
    hidden = torch.zeros(3, 4).double()
    for step in x.double():
        hidden = torch.tanh(step @ weights["W"] + hidden @ weights["R"] + weights["B"])
    loss = ((hidden @ weights["V"] + weights["b"] - target.double()) ** 2).mean()
    loss.backward()
    arrays = {name: value.detach().numpy().astype("f") for name, value in weights.items()}
    gradients = {f"grad.{name}": value.grad.numpy() for name, value in weights.items()}
    np.savez(INPUTS / "constants.npz", x=x, target=target, loss=loss.detach(), **arrays, **gradients)


def main():
    INPUTS.mkdir(exist_ok=True)
    save_constants()
    for name, (network, shapes, axis) in MODELS.items():
        torch.manual_seed(0)
        module = network().eval()
        inputs = [torch.randn(shape) for shape in shapes]
        count = len(outputs) if isinstance(outputs := module(*inputs), tuple) else 1
        torch.onnx.export(
            module, tuple(inputs), INPUTS / f"{name}.onnx", dynamo=True, external_data=False, verbose=False,
            input_names=["x", "v", "z"][: len(shapes)], output_names=["y", "v_next", "z_next"][:count],
            dynamic_shapes=tuple({axis: B} for _ in shapes),
        )  # fmt: skip
        # Several time steps of a stream.
        if name == "spiking_cell":
            inputs[0] = torch.randn(5, 2, 3)
        double = [x.double() for x in inputs]
        module = module.double()
        if name == "spiking_cell":
            cell, module = module, SpikingScan().double()
            module.load_state_dict(cell.state_dict(), strict=False)
            module.forward = lambda x, v, z: run_stream(cell, x, v, z)
            module.named_parameters = cell.named_parameters
        outputs = module(*double)
        shape = (outputs[0] if isinstance(outputs, tuple) else outputs).shape
        target = torch.randn(shape).double()
        loss, gradients = take_gradients(module, double, target)
        arrays = {"x": inputs[0].numpy(), "target": target.numpy().astype("f"), "loss": loss}
        arrays |= {key: x.numpy() for key, x in zip("vz", inputs[1:], strict=False)}
        if name in ("fresh_norms", "zero_scale"):
            module.train()
            _, trained = take_gradients(module, double, target)
            arrays |= {f"trained.{key}": value for key, value in trained.items()}
            arrays |= {f"after.{key}": b.numpy() for key, b in module.named_buffers() if "running_mean" in key}
        np.savez(INPUTS / f"{name}.npz", **arrays, **{f"grad.{key}": value for key, value in gradients.items()})


def run_stream(cell, x, v, z):
    outputs = []
    for step in x:
        y, v, z = cell(step, v, z)
        outputs.append(y)
    return torch.stack(outputs)


if __name__ == "__main__":
    main()
