"""Initializers are classified by the metadata of PyTorch's newer exporter, or else by names and
uses.

export_kinds.py writes the models.
"""

import json

import harness
import numpy as np
import pytest

INPUTS = harness.ROOT / "test" / "Import" / "Inputs" / "kinds"

# For each model: trained initializers, the warning about initializers computed from parameters, and
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
    "fused": (
        "conv.weight conv.weight_bias head.0.weight head.0.bias",
        "'conv.weight' (fused with 'norm.weight' and 'norm.bias'), "
        "'head.0.weight' (fused with 'head.1.weight' and 'head.1.bias'), "
        "'head.0.bias' (fused with 'head.1.weight' and 'head.1.bias'), "
        "'conv.weight_bias' (fused with 'norm.weight' and 'norm.bias')",
        {},
    ),
    "scanned": (
        "gain cell.weight cell.bias",
        "",
        {
            "leak": "recorded as BUFFER",
            "sub": "folded from 'leak'",
            "zeros": "folded from constants",
            "threshold_cast": "folded from constants",
            "val_1_2": "not recorded as a parameter",
        },
    ),
}


# For models without metadata: the initializers that a warning names as possible buffers, constants
# or computed initializers.
UNRECORDED = {
    "unrecorded_layouts": {},
    "unrecorded_normalized": {"doubtful": ("_mean", "onnx::Div_87")},
    "unrecorded_decay": {"doubtful": ("A_log",)},
    "unrecorded_fused": {"computed": ("onnx::Conv_21", "onnx::Conv_22")},
}


def classes_of(name, *options):
    info = harness.compile_model(INPUTS / f"{name}.onnx", "--loss=mse", *options).info()
    assert {entry["name"]: entry["elements"] for entry in info["initializers"]}.get("head.weight", 6) == 6
    return {entry["name"]: (entry["kind"], entry["reason"]) for entry in info["initializers"]}


def test_options_are_given_as_reasons():
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
    note = "".join(line for line in said.splitlines() if "as buffers or constants" in line)
    assert note.count("' (") == len(constants)
    for initializer, reason in constants.items():
        assert f"'{initializer}' ({reason})" in note


@pytest.mark.parametrize("name", UNRECORDED)
def test_classification_by_names_and_uses(name):
    doubtful, computed = (UNRECORDED[name].get(key, ()) for key in ("doubtful", "computed"))
    classes, said = list_initializers(name)
    assert all(kind == "trained" for initializer, (kind, _) in classes.items() if "running" not in initializer)
    pattern = f"'^({'|'.join(doubtful)})$'"
    assert said.count("may be buffers or constants") == bool(doubtful)
    assert (f"{', '.join(map(repr, doubtful))}; --freeze={pattern}" in said) == bool(doubtful)
    text = ", ".join(f"{initializer!r} (computed for Conv)" for initializer in computed)
    assert (f"in place of the parameters: {text}; " in said) == bool(computed)
    assert "because of their names only" not in said
    # The options that the warning suggests silence it.
    for option in ("--freeze", "--train") if doubtful else ():
        again, said = list_initializers(name, f"{option}={pattern[1:-1]}")
        assert "may be buffers" not in said
        assert {again[name][0] for name in doubtful} == {"frozen" if option == "--freeze" else "trained"}


def list_initializers(name, *options):
    """Returns types and reasons without compiling a program, and the compiler's messages."""
    words = [harness.require_tool("bppsa-compile"), INPUTS / f"{name}.onnx", "--loss=mse", *options]
    completed = harness.check_succeeded(harness.run(*words, "--emit=initializers", "--compile-to=import", "-o", "-"))
    entries = json.loads(completed.stdout)
    assert all(entry["elements"] == np.prod(entry["shape"]) for entry in entries)
    return {entry["name"]: (entry["kind"], entry["reason"]) for entry in entries}, completed.stderr
