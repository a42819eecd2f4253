"""Writes Inputs/unrolled_*.onnx: cells called in Python loops, as both PyTorch exporters write
them.

Run in an environment with torch and onnxscript: python export_unrolled.py [NAME...]
"""

import pathlib
import sys

import onnx
import torch
from torch import nn

STEPS, FEATURES, HIDDEN, CLASSES = 6, 4, 6, 3


class Cell(nn.Module):
    """One cell, with several ways to split the inputs and to join the outputs."""

    def __init__(self, kind, read="index", write="stack"):
        super().__init__()
        self.cell, self.head = getattr(nn, kind + "Cell")(FEATURES, HIDDEN), nn.Linear(HIDDEN, CLASSES)
        self.read, self.write = read, write

    def steps(self, x):
        if self.read == "unbind":
            return x.unbind(1)
        if self.read == "split":
            return [part.squeeze(1) for part in x.split(1, 1)]
        steps = [x[:, t] for t in range(STEPS)]
        return steps[::-1] if self.read == "backwards" else steps

    def forward(self, x):
        h = torch.zeros(x.shape[0], HIDDEN)
        state, outputs = (h, h) if isinstance(self.cell, nn.LSTMCell) else h, []
        for step in self.steps(x):
            state = self.cell(step, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        if self.write == "stack":
            return self.head(torch.stack(outputs, 1))
        if self.write == "concat":
            return torch.cat([self.head(h).unsqueeze(1) for h in outputs], 1)
        return self.head(outputs[-1])


class HandWritten(nn.Module):
    """An LSTM written with one matrix product per step; the time axis comes first."""

    def __init__(self):
        super().__init__()
        self.gates, self.head = nn.Linear(FEATURES + HIDDEN, 4 * HIDDEN), nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[1], HIDDEN)
        outputs = []
        for t in range(STEPS):
            i, f, g, o = self.gates(torch.cat([x[t], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return self.head(torch.stack(outputs))


class LinearRecurrence(nn.Module):
    """A minGRU: gates and candidates are computed for all steps at once."""

    def __init__(self):
        super().__init__()
        self.gate, self.candidate = nn.Linear(FEATURES, HIDDEN), nn.Linear(FEATURES, HIDDEN)
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        z, candidates = torch.sigmoid(self.gate(x)), self.candidate(x)
        h, outputs = x.new_zeros(x.shape[0], HIDDEN), []
        for t in range(STEPS):
            h = (1 - z[:, t]) * h + z[:, t] * candidates[:, t]
            outputs.append(h)
        return self.head(torch.stack(outputs, 1))


class SelectiveScan(nn.Module):
    """A state space model: decay, input and output of a step depend only on the step's input."""

    def __init__(self, states=3):
        super().__init__()
        self.log_decay = nn.Parameter(torch.rand(FEATURES, states))
        self.delta = nn.Linear(FEATURES, FEATURES)
        self.input, self.output = nn.Linear(FEATURES, states), nn.Linear(FEATURES, states)

    def forward(self, x):
        h, outputs = x.new_zeros(x.shape[0], *self.log_decay.shape), []
        for u in x.unbind(1):
            delta = torch.sigmoid(self.delta(u))
            decay = torch.exp(-delta.unsqueeze(2) * torch.exp(self.log_decay))
            h = decay * h + (delta * u).unsqueeze(2) * self.input(u).unsqueeze(1)
            outputs.append((h * self.output(u).unsqueeze(1)).sum(2))
        return torch.stack(outputs, 1)


class Decoder(nn.Module):
    """Feeds the output of each step to the next step."""

    def __init__(self, steps):
        super().__init__()
        self.start, self.steps = nn.Linear(FEATURES, HIDDEN), steps
        self.cell, self.head = nn.GRUCell(CLASSES, HIDDEN), nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        h, y, outputs = torch.tanh(self.start(x)), x.new_zeros(x.shape[0], CLASSES), []
        for _ in range(self.steps):
            h = self.cell(y, h)
            y = self.head(h)
            outputs.append(y)
        return torch.stack(outputs, 1)


class AttentionDecoder(nn.Module):
    """Attends to all encoder states at every step."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(FEATURES, HIDDEN, batch_first=True)
        self.cell, self.query = nn.LSTMCell(CLASSES + HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.head = nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, x):
        memory, last = self.encoder(x)
        h, context, outputs = last[0], memory.mean(1), []
        c, y = torch.zeros_like(h), h.new_zeros(x.shape[0], CLASSES)
        for _ in range(STEPS):
            h, c = self.cell(torch.cat([y, context], 1), (h, c))
            scores = torch.bmm(memory, self.query(h).unsqueeze(2)).squeeze(2)
            context = torch.bmm(torch.softmax(scores, 1).unsqueeze(1), memory).squeeze(1)
            y = self.head(torch.cat([h, context], 1))
            outputs.append(y)
        return torch.stack(outputs, 1)


class Tagger(nn.Module):
    """Two layers over words; each position has its own bias."""

    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(11, FEATURES), nn.Parameter(torch.randn(STEPS, FEATURES))
        self.lower, self.upper = nn.LSTMCell(FEATURES, HIDDEN), nn.LSTMCell(HIDDEN, HIDDEN)
        self.head = nn.Linear(HIDDEN, 11)

    def forward(self, x):
        zeros = torch.zeros(x.shape[0], HIDDEN)
        lower = upper = (zeros, zeros)
        outputs = []
        for t in range(STEPS):
            lower = self.lower(self.words(x[:, t]) + self.positions[t], lower)
            upper = self.upper(lower[0], upper)
            outputs.append(self.head(upper[0]))
        return torch.stack(outputs, 1)


class Stepped(nn.Module):
    """Layers that are called once per time step, with a sequence of length 1."""

    def __init__(self, kind, layers, batch_first=False, steps=STEPS, feeds_back=False):
        super().__init__()
        features = CLASSES if feeds_back else FEATURES
        self.layer = getattr(nn, kind)(features, HIDDEN, layers, batch_first=batch_first)
        self.head, self.axis = nn.Linear(HIDDEN, CLASSES), 1 if batch_first else 0
        self.steps, self.feeds_back = steps, feeds_back

    def forward(self, x):
        state, outputs = None, []
        y = x.narrow(self.axis, 0, 1)[..., :CLASSES]
        for t in range(self.steps):
            h, state = self.layer(y if self.feeds_back else x.narrow(self.axis, t, 1), state)
            y = self.head(h)
            outputs.append(y)
        return torch.cat(outputs, self.axis)


NETWORKS = {
    "rnn": (Cell("RNN"), 0),
    "gru": (Cell("GRU", "split", "concat"), 0),
    "lstm": (Cell("LSTM", "unbind", "last"), 0),
    "backwards": (Cell("LSTM", "backwards"), 0),
    "hand_written": (HandWritten(), 1),
    "linear": (LinearRecurrence(), 0),
    "selective": (SelectiveScan(), 0),
    "decoder": (Decoder(24), 0),
    "attention": (AttentionDecoder(), 0),
    "tagger": (Tagger(), 0),
    "stepped_lstm": (Stepped("LSTM", 1), 1),
    "stepped_gru": (Stepped("GRU", 2, batch_first=True), 0),
    "stepped_rnn": (Stepped("RNN", 1, batch_first=True), 0),
    "stepped_decoder": (Stepped("LSTM", 1, steps=24, feeds_back=True), 1),
}

# The dynamo exporter writes different graphs for these models, which are not rolled up.
TORCHSCRIPT_ONLY = {"stepped_rnn"}


def example(name):
    if name == "tagger":
        return torch.randint(0, 11, (2, STEPS))
    if NETWORKS[name][1] == 1:
        return torch.randn(STEPS, 2, FEATURES)
    return torch.randn(2, FEATURES) if name == "decoder" else torch.randn(2, STEPS, FEATURES)


def strip(path):
    """Removes the source locations that the exporter records."""
    model = onnx.load(path)
    for item in [*model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, model.graph, model]:
        item.ClearField("metadata_props")
        item.ClearField("doc_string")
    model.graph.ClearField("value_info")
    onnx.save(model, path)


def main():
    torch.manual_seed(0)
    directory = pathlib.Path(__file__).parent / "Inputs"
    for name in sys.argv[1:] or NETWORKS:
        network, axis = NETWORKS[name]
        x, out = example(name), axis
        names = {"input_names": ["x"], "output_names": ["y"]}
        torch.onnx.export(
            network, (x,), str(directory / f"unrolled_{name}_torchscript.onnx"), dynamo=False,
            dynamic_axes={"x": {axis: "B"}, "y": {out: "B"}}, opset_version=17, **names,
        )
        exporters = ["torchscript"]
        if name not in TORCHSCRIPT_ONLY:
            exporters.append("dynamo")
            torch.onnx.export(
                network, (x,), str(directory / f"unrolled_{name}_dynamo.onnx"), dynamo=True, external_data=False,
                dynamic_shapes=({axis: torch.export.Dim("B")},), verbose=False, **names,
            )
        for exporter in exporters:
            strip(str(directory / f"unrolled_{name}_{exporter}.onnx"))


if __name__ == "__main__":
    main()
