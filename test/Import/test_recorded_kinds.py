"""Initializers are classified by what PyTorch's newer exporter records of them (export_kinds.py)."""

import harness
import pytest

INPUTS = harness.ROOT / "test" / "Import" / "Inputs" / "kinds"

# Of each model: the initializers that are trained, those a warning calls computed from parameters, and
# the reasons why others are not trained.
EXPECTED = {
    "layouts": (
        "val_109 val_110 val_111 val_219 val_220 val_221 val_236 head.bias",
        "",
        {"val_16": "folded from constants"},
    ),
    "positions": (
        "val_39 val_40 val_56 head.weight head.bias",
        "",
        dict.fromkeys(("cat", "val_23", "threshold_cast", "unsqueeze_2", "sum_2"), "folded from constants"),
    ),
    "normalized": (
        "val_27 val_28 val_44",
        "",
        {"_mean": "recorded as BUFFER", "add": "folded from '_std'", "val_10": "folded from constants"},
    ),
    "learned_state": ("val_8 val_25 val_26 val_42", "", {}),
    "expanded_state": ("val_13 val_30 val_31 val_47", "'val_13' (folded from 'start' by expand)", {}),
    "decay": ("exp_1 head.weight head.bias", "'exp_1' (folded from 'A_log' by exp, neg)", {}),
    "weight_norm": (
        "mul layer.bias",
        "'mul' (folded from 'layer.parametrizations.weight.original0', 'layer.parametrizations.weight.original1' "
        "by div, linalg_vector_norm, mul)",
        {},
    ),
}


def classes_of(name, *options):
    info = harness.compile_model(INPUTS / f"{name}.onnx", "--loss=mse", *options).info()
    assert {entry["name"]: entry["elements"] for entry in info["initializers"]}.get("head.weight", 6) == 6
    return {entry["name"]: (entry["kind"], entry["reason"]) for entry in info["initializers"]}


def test_options_are_reasons():
    classes = classes_of("normalized", "--train=^add$")
    assert classes["add"] == ("trained", "--train") and classes["_mean"] == ("constant", "recorded as BUFFER")
    classes = classes_of("decay", "--freeze=bias")
    assert classes["head.bias"] == ("frozen", "--freeze")
    assert classes["head.weight"] == ("trained", "recorded as PARAMETER")


@pytest.mark.parametrize("name", EXPECTED)
def test_classification(name, tmp_path):
    trained, computed, constants = EXPECTED[name]
    program = tmp_path / "program"
    words = [harness.require_tool("bppsa-compile"), INPUTS / f"{name}.onnx", "--loss=mse", "--mcpu=native", "-O0"]
    said = harness.check_succeeded(harness.run(*words, "-o", program)).stderr
    info = harness.Program(program, None, ()).info()
    found = {entry["name"] for entry in info["initializers"] if entry["trained"]}
    assert found == set(trained.split())
    warnings = [line for line in said.splitlines() if "computed initializers from parameters" in line]
    assert len(warnings) == bool(computed)
    if computed:
        assert f"the parameters: {computed};" in warnings[0] and "optimize=False" in warnings[0]
    classes = {entry["name"]: (entry["kind"], entry["reason"]) for entry in info["initializers"]}
    assert all(classes[name][0] == "trained" and classes[name][1] for name in found)
    assert {name: reason for name, (kind, reason) in classes.items() if kind == "constant"} == constants
    for initializer, reason in constants.items():
        assert f"'{initializer}' ({reason})" in said
    assert said.count(" (folded from ") + said.count(" (recorded as ") == len(constants) + bool(computed)
