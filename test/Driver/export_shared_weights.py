"""Writes Inputs/shared_*.onnx and Inputs/shared_losses.json.

The networks have shared parameters, or parameters with equal values. Both exporters of PyTorch
write them. The JSON file records their losses while PyTorch trains them.

Run in an environment with torch and onnxscript: python export_shared_weights.py
"""

import json
import pathlib

import numpy as np
import onnx
import torch
from torch import nn

HERE = pathlib.Path(__file__).parent / "Inputs"
STEPS, RATE = 20, 0.02


class Clones(nn.Module):
    """Two layers with equal initial values, as in nn.TransformerEncoder."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.load_state_dict(self.first.state_dict())

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class Norms(nn.Module):
    """Untrained layer normalizations: all weights are one, all biases zero."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(6), nn.LayerNorm(6)
        self.gru = nn.GRU(6, 6, batch_first=True)

    def forward(self, x):
        return self.after(self.gru(self.before(x))[0])


class Siamese(nn.Module):
    """One tower for two inputs, which shares its parameters on purpose."""

    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.Tanh())

    def forward(self, x, y):
        return self.tower(x) * self.tower(y)


def samples(network):
    rng = np.random.default_rng(0)
    shape = (4, 5, 6) if isinstance(network, Norms) else (4, 6)
    names = ["x", "y"] if isinstance(network, Siamese) else ["x"]
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name in [*names, "target"]}
    return names, arrays


def losses(network, names, arrays):
    """Returns the loss before each of STEPS steps of gradient descent on all samples."""
    optimizer = torch.optim.SGD(network.parameters(), RATE)
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        output = network(*(torch.from_numpy(arrays[name]) for name in names))
        loss = nn.functional.mse_loss(output, torch.from_numpy(arrays["target"]))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main():
    recorded = {"steps": STEPS, "rate": RATE}
    for kind in (Clones, Norms, Siamese):
        torch.manual_seed(0)
        network = kind()
        name = kind.__name__.lower()
        names, arrays = samples(network)
        for exporter in ("torchscript", "dynamo"):
            path = HERE / f"shared_{name}_{exporter}.onnx"
            arguments = tuple(torch.from_numpy(arrays[name]) for name in names)
            options = {"input_names": names, "output_names": ["out"]}
            if exporter == "dynamo":
                options |= {"dynamo": True, "external_data": False, "verbose": False}
            else:
                options |= {"dynamo": False, "opset_version": 17}
            torch.onnx.export(network, arguments, path, **options)
            model = onnx.load(path)
            # Removes stack traces, but keeps the names of scopes and the types of parameters.
            kept = ("pkg.torch.onnx.name_scopes", "pkg.torch.export.graph_signature.InputSpec.kind")
            kept += ("pkg.onnxscript.optimizer.folded_from",)
            for item in [*model.graph.node, *model.graph.value_info]:
                entries = [entry for entry in item.metadata_props if entry.key in kept]
                del item.metadata_props[:]
                item.metadata_props.extend(entries)
            onnx.save(model, path)
        recorded[name] = losses(network, names, arrays)
    (HERE / "shared_losses.json").write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
