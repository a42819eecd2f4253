"""Writes Inputs/kinds: models with initializers that PyTorch's exporters have folded.

The newer exporter records how it computed them.
"""

import pathlib
import sys

import onnx
import torch
from torch import nn
from torch._higher_order_ops.scan import scan

INPUTS = pathlib.Path(__file__).parent / "Inputs" / "kinds"


class Layouts(nn.Module):
    """Weights of recurrent and linear layers, which the exporter transposes."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


class Positions(nn.Module):
    """Positional encodings and weights over time, computed from constants."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x):
        steps = torch.arange(6, dtype=x.dtype)
        angles = steps[:, None] * torch.exp(torch.arange(0, 4, 2, dtype=x.dtype) * -2.3)
        hidden, _ = self.gru(x + torch.cat([torch.sin(angles), torch.cos(angles)], -1))
        weights = 0.9 ** torch.arange(5, -1, -1, dtype=x.dtype)
        return self.head((nn.functional.softplus(hidden) * weights[None, :, None]).sum(1) / weights.sum())


class Normalized(nn.Module):
    """Statistics in buffers, one of which is folded with a constant."""

    def __init__(self):
        super().__init__()
        self.register_buffer("_mean", torch.linspace(-1, 1, 3))
        self.register_buffer("_std", torch.linspace(0.5, 2, 3))
        self.gru = nn.GRU(3, 4)

    def forward(self, x):
        return self.gru((x - self._mean) / (self._std + 0.01))[0]


class LearnedState(nn.Module):
    """A zero initial state that is a parameter of another shape."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(4))
        self.gru = nn.GRU(3, 4)

    def forward(self, x):
        return self.gru(x, self.start.view(1, 1, 4))[0]


class ExpandedState(LearnedState):
    """LearnedState for two samples: the parameter is expanded to two rows."""

    def forward(self, x):
        return self.gru(x, self.start.view(1, 1, 4).expand(1, 2, 4).contiguous())[0]


class Decay(nn.Module):
    """A decay rate that is the negative exponential of a parameter, as in Mamba."""

    def __init__(self):
        super().__init__()
        self.A_log = nn.Parameter(torch.linspace(0, 1, 3))
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(x * torch.exp(-torch.exp(self.A_log)))


class WeightNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))

    def forward(self, x):
        return self.layer(x)


class Fused(nn.Module):
    """A convolution and a linear layer, each followed by batch normalization."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 2, 2, bias=False), nn.BatchNorm1d(2)
        self.head = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2))
        for norm in (self.norm, self.head[1]):
            norm.running_var.uniform_(0.5, 2)
            norm.running_mean.uniform_(-1, 1)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))


class Scanned(nn.Module):
    """A cell in torch.scan with a parameter, a buffer and constants."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(7, 4)
        self.gain = nn.Parameter(torch.linspace(0.5, 1.5, 4))
        self.register_buffer("leak", torch.tensor([0.3, 0.4, 0.5, 0.6]))

    def forward(self, x):
        def step(state, x):
            new = torch.tanh(self.cell(torch.cat([x, state], -1)) * self.gain)
            state = (1 - self.leak) * state + self.leak * nn.functional.softplus(new) * 0.5
            return state, state.clone()

        return scan(step, torch.zeros(2, 4), x, dim=0)[1]


MODELS = {
    "layouts": (Layouts, (2, 6, 3)),
    "positions": (Positions, (2, 6, 4)),
    "normalized": (Normalized, (5, 1, 3)),
    "learned_state": (LearnedState, (5, 1, 3)),
    "expanded_state": (ExpandedState, (5, 2, 3)),
    "decay": (Decay, (2, 3)),
    "weight_norm": (WeightNorm, (2, 3)),
    "fused": (Fused, (2, 3, 3)),
    "scanned": (Scanned, (5, 2, 3)),
}
# Models of the older exporter, which records nothing.
UNRECORDED = {
    "unrecorded_layouts": (Layouts, (2, 6, 3)),
    "unrecorded_normalized": (Normalized, (5, 1, 3)),
    "unrecorded_decay": (Decay, (2, 3)),
    "unrecorded_fused": (Fused, (2, 3, 3)),
}


def main():
    for name, (network, shape) in {**MODELS, **UNRECORDED}.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(0)
        module, x = network().eval(), torch.zeros(shape)
        path = INPUTS / f"{name}.onnx"
        names = {"input_names": ["x"], "output_names": ["y"]}
        if name in UNRECORDED:
            torch.onnx.export(module, (x,), path, dynamo=False, opset_version=17, **names)
            continue
        torch.onnx.export(module, (x,), path, dynamo=True, external_data=False, verbose=False, **names)
        model = onnx.load(path)
        # Stack traces contain paths.
        for node in model.graph.node:
            kept = [entry for entry in node.metadata_props if entry.key != "pkg.torch.onnx.stack_trace"]
            del node.metadata_props[:]
            node.metadata_props.extend(kept)
        onnx.save(model, path)


if __name__ == "__main__":
    main()
