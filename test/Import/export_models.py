"""Writes the models in Inputs/: small networks, each exported by both of PyTorch's exporters.

Run in an environment with torch and onnxscript: python export_models.py
"""

import pathlib

import onnx
import torch
from torch import nn

FEATURES, HIDDEN = 4, 6


class Network(nn.Module):
    def __init__(self, kind, layers=1, batch_first=False, bidirectional=False):
        super().__init__()
        options = {"batch_first": batch_first, "bidirectional": bidirectional}
        self.rnn = getattr(nn, kind)(FEATURES, HIDDEN, layers, **options)
        self.axes = (0, 1) if batch_first else (1, 0)  # batch and time axis
        self.directions = 2 if bidirectional else 1
        self.head = nn.Linear(self.directions * HIDDEN, 3)


class ZerosFlat(Network):
    """Initial states created from the batch size; the head reads [T * B, H]."""

    def forward(self, x):
        rows = self.rnn.num_layers * self.directions
        y, _ = self.rnn(x, torch.zeros(rows, x.shape[self.axes[0]], HIDDEN))
        z = self.head(y.reshape(-1, y.shape[-1]))
        return z.view(y.shape[0], y.shape[1], -1)


class NormAttention(Network):
    """Layer normalization followed by a softmax over time."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.norm = nn.LayerNorm(self.directions * HIDDEN)

    def forward(self, x):
        y = self.norm(self.rnn(x)[0])
        time = self.axes[1]
        scores = (y * y.select(time, -1).unsqueeze(time)).sum(-1, keepdim=True)
        weights = torch.softmax(scores, time)
        return self.head((weights * y).sum(time))


class TrainedState(Network):
    """Initial states that are parameters, shared by all samples."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.state = nn.Parameter(torch.randn(self.rnn.num_layers * self.directions, 1, HIDDEN))

    def forward(self, x):
        state = self.state.expand(-1, x.shape[self.axes[0]], -1).contiguous()
        y, _ = self.rnn(x, (state, state))
        return self.head(y.mean(self.axes[1]))


class LastStates(Network):
    """The final states of both directions of the last layer."""

    def forward(self, x):
        _, h = self.rnn(x)
        h = h.view(self.rnn.num_layers, self.directions, x.shape[self.axes[0]], HIDDEN)[-1]
        return self.head(torch.cat([h[i] for i in range(self.directions)], -1))


class FlipDifferences(Network):
    """Reversed steps, and differences of adjacent steps."""

    def forward(self, x):
        y = torch.flip(self.rnn(x)[0], [0])
        return self.head(y[1:] - y[:-1])


class Packed(nn.Module):
    """Samples of different lengths, sorted by decreasing length."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(FEATURES, 5, batch_first=True, bidirectional=True)
        self.head = nn.Linear(10, 2)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        steps, _ = nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)
        return self.head(steps)


NETWORKS = {
    "zeros_flat": ZerosFlat("GRU", 2, batch_first=True, bidirectional=True),
    "norm_attention": NormAttention("GRU", batch_first=True, bidirectional=True),
    "trained_state": TrainedState("LSTM", 2, batch_first=True),
    "last_states": LastStates("GRU", 2, bidirectional=True),
    "flip_differences": FlipDifferences("LSTM"),
}


def strip(path):
    """Removes stack traces and other metadata of the exporter."""
    model = onnx.load(path)
    del model.metadata_props[:], model.graph.metadata_props[:], model.graph.value_info[:]
    for part in (model.graph.node, model.graph.input, model.graph.output, model.graph.initializer):
        for item in part:
            item.ClearField("doc_string")
            del item.metadata_props[:]
    onnx.save(model, path)


def export_packed():
    """Writes the model of test/Driver/test_lengths.py."""
    path = pathlib.Path(__file__).parents[1] / "Driver" / "Inputs" / "packed_torchscript.onnx"
    arguments = (torch.randn(3, 5, FEATURES), torch.tensor([5, 3, 2]))
    axes = {"x": {0: "B", 1: "T"}, "lengths": {0: "B"}, "y": {0: "B", 1: "T"}}
    names = {"input_names": ["x", "lengths"], "output_names": ["y"]}
    torch.onnx.export(
        Packed(), arguments, path, dynamo=False, dynamic_axes=axes, opset_version=17, **names
    )
    strip(path)


def main():
    torch.manual_seed(0)
    export_packed()
    directory = pathlib.Path(__file__).parent / "Inputs"
    names = {"input_names": ["x"], "output_names": ["y"]}
    for name, network in NETWORKS.items():
        network.eval()
        axes = dict(zip(network.axes, ("B", "T")))
        x = (torch.randn(3, 5, FEATURES) if axes[0] == "B" else torch.randn(5, 3, FEATURES),)
        path = directory / f"{name}_torchscript.onnx"
        torch.onnx.export(
            network, x, path, dynamo=False, dynamic_axes={"x": axes}, opset_version=17, **names
        )
        strip(path)
        path = directory / f"{name}_dynamo.onnx"
        shapes = ({i: torch.export.Dim(n, min=2, max=4096) for i, n in axes.items()},)
        torch.onnx.export(
            network, x, path, dynamo=True, dynamic_shapes=shapes, external_data=False, **names
        )
        strip(path)


if __name__ == "__main__":
    main()
