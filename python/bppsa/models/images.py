# Part of the bppsa project, under the MIT License.
"""Convolutional example models exported by PyTorch: images [B, channels, rows, columns]."""

import io
import warnings

import numpy as np
import onnx
import torch
from torch import nn


def lenet5(channels=3, size=32, classes=10):
    """LeNet-5 with ReLU and max pooling."""
    plane = ((size - 4) // 2 - 4) // 2
    return nn.Sequential(
        nn.Conv2d(channels, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * plane * plane, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, classes),
    )


EXAMPLES = {"lenet5": (lenet5, (3, 32, 32))}


def build(name, seed=6):
    """Returns the PyTorch module of an example, initialized with `seed`."""
    torch.manual_seed(seed)
    return EXAMPLES[name][0]().eval()


def sample(name, batch, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, *EXAMPLES[name][1], generator=generator)


def make(name):
    """Exports one example and compares ONNX Runtime with PyTorch; returns an onnx.ModelProto."""
    import onnxruntime

    module, buffer = build(name), io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its deprecation
        torch.onnx.export(
            module,
            (sample(name, batch=2, seed=0),),
            buffer,
            dynamo=False,
            input_names=["x"],
            output_names=["logits"],
            dynamic_axes={"x": {0: "B"}, "logits": {0: "B"}},
        )
    model = onnx.load_from_string(buffer.getvalue())
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for batch in (1, 5):
        x = sample(name, batch, seed=batch)
        with torch.no_grad():
            expected = module(x).numpy()
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-6)
    return model
