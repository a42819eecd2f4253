"""Writes Inputs/: the models of zoo_models.py from both PyTorch exporters, and losses.json, the
losses of 100 training steps of PyTorch in float64.

Run in an environment with torch and onnxscript: python export_zoo.py [NAME ...]
"""

import json
import pathlib
import re
import sys
import warnings

import networks
import onnx
import torch
from torch.nn import functional
from zoo_models import ZOO, make_data

INPUTS = pathlib.Path(__file__).parent / "Inputs"
LOSSES = {
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "huber": functional.huber_loss,
    "bce-with-logits": functional.binary_cross_entropy_with_logits,
}
OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
}


def make_network(name):
    """Returns the untrained network in float32."""
    entry = ZOO[name]
    torch.manual_seed(1)
    return getattr(networks, entry.network)().train(entry.mode == "train")


def tensors(name, dtype):
    arrays = {key: torch.from_numpy(array) for key, array in make_data(name).items()}
    return {k: a.to(dtype) if a.is_floating_point() else a for k, a in arrays.items()}


def export(name, exporter, path):
    """Exports with a dynamic batch size; `unoptimized` means dynamo with optimize=False."""
    entry = ZOO[name]
    network, arrays = make_network(name), tensors(name, torch.float32)
    arguments = tuple(arrays[key] for key in entry.inputs)
    names = {"input_names": list(entry.inputs), "output_names": ["out"]}
    if exporter == "torchscript":
        mode = torch.onnx.TrainingMode
        mode = mode.TRAINING if entry.mode == "train" else mode.EVAL
        dynamic = {key: {0: "N"} for key in [*entry.inputs, "out"]}
        torch.onnx.export(
            network, arguments, path, dynamo=False, training=mode, dynamic_axes=dynamic,
            do_constant_folding=entry.mode == "eval", opset_version=17, **names,
        )  # fmt: skip
    else:
        batch = torch.export.Dim("N", min=2)
        torch.onnx.export(
            network, arguments, path, dynamo=True, external_data=False,
            optimize=exporter == "dynamo" and entry.has_unoptimized,
            dynamic_shapes=tuple({0: batch} for _ in arguments), verbose=False, **names,
        )  # fmt: skip
    model = onnx.load(path)
    strip(model)
    onnx.save(model, path)


def strip(model):
    """Removes unused metadata: the source locations of nodes, except their modules and rewrites."""
    kept = {
        "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.original_node_name",
        "pkg.onnxscript.rewriter.rule_name",
    }  # fmt: skip
    for node in model.graph.node:
        metadata = [entry for entry in node.metadata_props if entry.key in kept]
        del node.metadata_props[:]
        node.metadata_props.extend(metadata)
        node.doc_string = ""


def record(name):
    """Returns the mean loss of each epoch, without shuffling."""
    entry = ZOO[name]
    network, arrays = make_network(name).double(), tensors(name, torch.float64)
    target = arrays.pop("target")
    parameters = [
        parameter
        for key, parameter in network.named_parameters()
        if not entry.frozen or not re.search(entry.frozen, key)
    ]
    optimizer = OPTIMIZERS[entry.optimizer](parameters, lr=entry.rate)
    losses = []
    for _ in range(entry.epochs):
        total = 0
        for first in range(0, entry.samples, entry.batch):
            part = slice(first, first + entry.batch)
            out, wanted = network(*(array[part] for array in arrays.values())), target[part]
            if entry.loss == "cross-entropy":
                loss = functional.cross_entropy(out.flatten(0, -2), wanted.flatten())
            else:
                loss = LOSSES[entry.loss](out, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(wanted)
        losses.append(total / entry.samples)
    return losses


def rounded(losses):
    return [float(f"{loss:.8g}") for loss in losses]


def main():
    warnings.filterwarnings("ignore")
    INPUTS.mkdir(exist_ok=True)
    path = INPUTS / "losses.json"
    recorded = json.loads(path.read_text()) if path.exists() else {}
    for name in sys.argv[1:] or ZOO:
        recorded[name] = record(name)
        for exporter in [*ZOO[name].exporters, *["unoptimized"] * ZOO[name].has_unoptimized]:
            export(name, exporter, INPUTS / f"{name}_{exporter}.onnx")
    lines = [f'"{name}": {json.dumps(rounded(recorded[name]))}' for name in sorted(recorded)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
