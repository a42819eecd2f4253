"""Writes Inputs/fixed: models exported by PyTorch without dynamic axes."""

import pathlib

import onnx
import torch
from torch import nn

INPUTS = pathlib.Path(__file__).parent / "Inputs" / "fixed"


class Recurrent(nn.Module):
    """A GRU with the default initial state."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 5, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


class Encoder(nn.Module):
    """An encoder whose attention heads are merged with samples."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 6, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x).mean(dim=1))


class Flattened(nn.Module):
    """A network that flattens channels and positions into one axis."""

    def __init__(self):
        super().__init__()
        self.filters = nn.Conv2d(1, 2, 3)
        self.head = nn.Linear(2 * 4 * 4, 2)

    def forward(self, x):
        return self.head(torch.relu(self.filters(x)).view(x.shape[0], -1))


MODELS = {"gru": (Recurrent, (4, 6, 3)), "encoder": (Encoder, (4, 6, 8)), "flattened": (Flattened, (4, 1, 6, 6))}


def main():
    for name, (network, shape) in MODELS.items():
        torch.manual_seed(0)
        module, x = network().eval(), torch.zeros(shape)
        names = {"input_names": ["x"], "output_names": ["y"]}
        for exporter in ("torchscript", "dynamo"):
            path = INPUTS / f"{name}_{exporter}.onnx"
            options = {"dynamo": True, "external_data": False, "optimize": name != "encoder"}
            if exporter == "torchscript":
                options = {"dynamo": False, "opset_version": 17}
            torch.onnx.export(module, (x,), path, verbose=False, **names, **options)
            model = onnx.load(path)
            for node in model.graph.node:
                del node.metadata_props[:]
                node.doc_string = ""
            onnx.save(model, path)


if __name__ == "__main__":
    main()
