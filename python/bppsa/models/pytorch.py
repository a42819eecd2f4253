# Part of the bppsa project, under the MIT License.
"""Example models exported by PyTorch.

`exporter` is "torchscript" (dynamo=False: RNN, GRU and LSTM nodes, weights folded into ONNX's gate
order) or "dynamo" (dynamo=True: GRU and LSTM nodes; nn.RNN would be unrolled over time, so no
dynamo model here uses it).
"""

import io
import logging
import warnings
from dataclasses import dataclass, field

import numpy as np
import onnx
import torch


class SequenceModel(torch.nn.Module):
    """A stack of recurrent layers and a linear head on the last step or on every step."""

    def __init__(
        self, kind, features, hidden, outputs, every_step=False, final_state=False, **options
    ):
        super().__init__()
        self.rnn = getattr(torch.nn, kind)(features, hidden, **options)
        self.head = torch.nn.Linear(hidden * (2 if self.rnn.bidirectional else 1), outputs)
        self.every_step = every_step
        self.final_state = final_state

    def forward(self, x):
        y, state = self.rnn(x)
        if self.every_step:
            return self.head(y)
        if self.final_state:
            hidden = state[0] if isinstance(state, tuple) else state
            return self.head(hidden[-1])
        return self.head(y[:, -1] if self.rnn.batch_first else y[-1])


@dataclass(frozen=True)
class Example:
    """Parameters of an example model. If steps is None, T is dynamic."""

    kind: str
    features: int
    hidden: int
    outputs: int
    seed: int
    exporter: str = "torchscript"
    steps: int = None
    options: dict = field(default_factory=dict)


EXAMPLES = {
    # The two models of the paper's experiments.
    "bitstream_rnn": Example("RNN", 1, 20, 10, seed=1, options={"final_state": True}),
    "irmas_gru": Example("GRU", 12, 20, 11, seed=2),
    "irmas_gru_dynamo": Example("GRU", 12, 20, 11, seed=2, exporter="dynamo"),
    # A tagger with one output per time step and two bidirectional layers.
    "lstm_tagger": Example(
        "LSTM",
        6,
        16,
        5,
        seed=3,
        options={"num_layers": 2, "bidirectional": True, "every_step": True},
    ),
    "lstm_tagger_dynamo": Example(
        "LSTM",
        6,
        16,
        5,
        seed=3,
        exporter="dynamo",
        options={"num_layers": 2, "bidirectional": True, "every_step": True},
    ),
    "lstm_batch_first": Example("LSTM", 12, 20, 11, seed=4, options={"batch_first": True}),
    # The sequence length is static.
    "rnn_fixed_t": Example("RNN", 1, 20, 10, seed=5, steps=1000),
    "rnn_fixed_t_30000": Example("RNN", 1, 20, 10, seed=5, steps=30000),
}


def build(example):
    """Returns the PyTorch module of an example, initialized with its seed."""
    torch.manual_seed(example.seed)
    return SequenceModel(
        example.kind, example.features, example.hidden, example.outputs, **example.options
    ).eval()


def _sample(example, steps, batch, seed):
    """Returns a random input in the layout of the example. A static length overrides `steps`."""
    steps = example.steps or steps
    shape = (batch, steps) if example.options.get("batch_first") else (steps, batch)
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, example.features, generator=generator)


def _export(module, example):
    """Exports a module and returns the ONNX model."""
    time, batch = (1, 0) if example.options.get("batch_first") else (0, 1)
    dynamic = {batch: "B"} if example.steps else {time: "T", batch: "B"}
    x = _sample(example, steps=7, batch=3, seed=0)
    axes = {"x": dynamic, "logits": dynamic if example.options.get("every_step") else {0: "B"}}
    names = {"input_names": ["x"], "output_names": ["logits"]}
    with warnings.catch_warnings():
        # The exporters warn about deprecation, their internals and other batch sizes.
        warnings.simplefilter("ignore")
        if example.exporter == "dynamo":
            shapes = ({axis: torch.export.Dim(name, min=1) for axis, name in dynamic.items()},)
            logging.getLogger("torch.onnx").setLevel(logging.ERROR)
            return torch.onnx.export(
                module, (x,), dynamo=True, verbose=False, dynamic_shapes=shapes, **names
            ).model_proto
        buffer = io.BytesIO()
        torch.onnx.export(module, (x,), buffer, dynamo=False, dynamic_axes=axes, **names)
    return onnx.load_from_string(buffer.getvalue())


def _check(model, module, example):
    """Compares ONNX Runtime with PyTorch at shapes other than the traced one."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    for steps, batch in ((1, 1), (2, 5), (33, 4)):
        x = _sample(example, steps, batch, seed=steps)
        with torch.no_grad():
            expected = module(x).numpy()
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)


def make(name):
    """Exports and checks one example; returns an onnx.ModelProto."""
    example = EXAMPLES[name]
    module = build(example)
    model = _export(module, example)
    _check(model, module, example)
    return model
