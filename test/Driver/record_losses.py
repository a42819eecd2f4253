"""Writes Inputs/torch_losses.json: weighted losses and their gradients from PyTorch.

Run in an environment with torch: python record_losses.py
"""

import json
import pathlib

import torch
from torch.nn import functional

OUTPUT = pathlib.Path(__file__).parent / "Inputs" / "torch_losses.json"
SHAPE = (4, 3, 5)  # samples, steps, classes
ELEMENTWISE = {
    "mse": functional.mse_loss,
    "l1": functional.l1_loss,
    "huber": functional.huber_loss,
    "bce-with-logits": functional.binary_cross_entropy_with_logits,
}
IGNORED = -100


def weighted_mean(losses, weight):
    return (losses * weight).sum() / weight.sum()


def class_loss(kind, logits, target, weight, options):
    """Returns the mean over all positions, weighted by position and class."""
    names = {"class_weights": "weight", "label_smoothing": "label_smoothing"}
    given = {names[name]: value for name, value in options.items() if name in names}
    given["ignore_index"] = IGNORED
    function = functional.cross_entropy if kind == "cross-entropy" else functional.nll_loss
    flat, classes = logits.reshape(-1, SHAPE[-1]), target.reshape(-1)
    if weight is None:
        return function(flat, classes, **given)
    losses = function(flat, classes, reduction="none", **given)
    counted = torch.where(classes == IGNORED, 0, weight.reshape(-1))
    own = given.get("weight", torch.ones(SHAPE[-1], dtype=torch.float64))
    divisor = (counted * own[classes.clamp(min=0)]).sum()
    return (losses * counted).sum() / divisor


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    logits = torch.randn(SHAPE).float().double()
    values = torch.rand(SHAPE).float().double()
    classes = torch.randint(0, SHAPE[-1], SHAPE[:-1])
    some = classes.clone()
    some[0, 1] = some[2, 0] = IGNORED
    weights = {"element": torch.rand(SHAPE).round(decimals=2)}
    weights["position"] = torch.tensor([[1, 0, 2.5], [0, 0, 0], [1, 1, 1], [0.25, 0, 3]])
    class_weights = torch.tensor([0.5, 1, 0, 2, 1.5])
    cases = []

    def record(kind, target, weight, options, loss):
        x = logits.clone().requires_grad_()
        value = loss(x)
        value.backward()
        case = {"loss": kind, "target": target.tolist(), "options": {}}
        case["weight"] = None if weight is None else weight.tolist()
        for name, option in options.items():
            case["options"][name] = option.tolist() if name == "class_weights" else option
        cases.append(case | {"value": value.item(), "gradient": x.grad.tolist()})

    for kind, function in ELEMENTWISE.items():
        weight = weights["element"]
        record(kind, values, weight, {}, lambda x: weighted_mean(function(x, values, reduction="none"), weight))
    smooth, own = {"label_smoothing": 0.2}, {"class_weights": class_weights}
    for kind in ("cross-entropy", "nll"):
        every = [{}, own] + ([smooth, smooth | own] if kind == "cross-entropy" else [])
        for options in every:
            for target, ignoring in ((classes, {}), (some, {"ignore_index": IGNORED})):
                for weight in (None, weights["position"]):
                    chosen = options | ignoring
                    record(
                        kind, target, weight, chosen,
                        lambda x: class_loss(kind, x, target, weight, chosen),
                    )  # fmt: skip
    OUTPUT.write_text(json.dumps({"logits": logits.tolist(), "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
