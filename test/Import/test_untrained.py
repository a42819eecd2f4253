"""Parameters that cannot be trained are reported and left unchanged.

export_untrained.py writes the models and the reference values from PyTorch.
"""

import harness
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

INPUTS = harness.ROOT / "test" / "Import" / "Inputs" / "untrained"
PATH = "no differentiable path to the loss"

# Options of the models with parameters that have no gradient.
PATHLESS = {
    "spiking_cell": ("--carry=v:v_next,z:z_next", "--loss-on=y", *(f"--batch-axis={x}:0" for x in "xvzy")),
    "spiking_scan": ("--batch-axis=x:1",),
    "leaky_scan": ("--batch-axis=x:1",),
    "steps": (),
    "two_heads": (),
}


def load(name):
    with np.load(INPUTS / f"{name}.npz") as arrays:
        return dict(arrays)


def compile_said(tmp_path, model, *options):
    """Returns a program and the messages of the compiler."""
    words = [harness.require_tool("bppsa-compile"), model, "--loss=mse", "--mcpu=native", "-O0", *options]
    said = harness.check_succeeded(harness.run(*words, "-o", tmp_path / "program")).stderr
    return harness.Program(tmp_path / "program", None, ()), said


def read_initializers(path):
    model = onnx.load(path)
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


def classes_of(program):
    return {entry["name"]: (entry["kind"], entry["reason"]) for entry in program.info()["initializers"]}


def check_gradients(found, arrays, classes, prefix="grad."):
    """Compares gradients with PyTorch, including weights that the exporter transposed."""
    names = {reason.removeprefix("folded from ").strip("'"): name for name, (_, reason) in classes.items()}
    # Recurrent layers have another order of gates.
    names = {source: name for source, name in names.items() if "_l0" not in source}
    compared = 0
    for name, wanted in arrays.items():
        name = name.removeprefix(prefix) if name.startswith(prefix) else ""
        name = name if name in found else names.get(name)
        if name not in found:
            continue
        wanted = wanted.T if found[name].shape != wanted.shape else wanted
        np.testing.assert_allclose(found[name].reshape(wanted.shape), wanted, rtol=2e-5, atol=2e-6, err_msg=name)
        compared += 1
    return compared


@pytest.mark.parametrize("name", PATHLESS)
def test_no_differentiable_path(name, tmp_path):
    arrays = load(name)
    program, said = compile_said(tmp_path, INPUTS / f"{name}.onnx", "--optimizer=adamw", *PATHLESS[name])
    classes = classes_of(program)
    # PyTorch has no gradient, or a zero gradient because of piecewise constant operations.
    names = [entry for entry, (_, reason) in classes.items() if reason in (PATH, "recorded as PARAMETER")]
    wanted = {entry for entry in names if not np.any(arrays.get(f"grad.{entry}", 0))}
    found = {entry for entry, (kind, reason) in classes.items() if (kind, reason) == ("frozen", PATH)}
    assert found == wanted
    warnings = [line for line in said.splitlines() if "no differentiable path" in line]
    assert len(warnings) == bool(wanted)
    listed = sorted(wanted)[:6] if len(wanted) <= 7 else []
    assert all(f"'{entry}'" in warnings[0] for entry in listed)
    data = {key: arrays[key] for key in ("x", "v", "z", "target") if key in arrays}
    gradients = program.grad(data)
    assert not found & gradients.keys()
    np.testing.assert_allclose(gradients["loss"], arrays["loss"], rtol=1e-5)
    assert check_gradients(gradients, arrays, classes) >= 1
    np.savez(tmp_path / "d.npz", **data)
    words = ("--data", tmp_path / "d.npz", "--lr", "0.1", "--weight-decay", "0.5", "--quiet", "--save")
    harness.check_succeeded(program.run("train", *words, tmp_path / "saved.onnx"))
    before, after = read_initializers(INPUTS / f"{name}.onnx"), read_initializers(tmp_path / "saved.onnx")
    for entry, array in before.items():
        assert (array.tobytes() == after[entry].tobytes()) == (classes.get(entry, ("",))[0] != "trained"), entry


@pytest.mark.parametrize("name", ["fresh_norms", "zero_scale"])
def test_fresh_norms(name, tmp_path):
    """Scale and bias of an untrained BatchNormalization share an initializer with its statistics."""
    arrays, model = load(name), INPUTS / f"{name}.onnx"
    _, said = compile_said(tmp_path, model, "--compile-to=loss")
    warning = next(line for line in said.splitlines() if "merged them with running statistics" in line)
    assert "'b.bias'" in warning and "'b.running_mean'" in warning and "--untie" in warning
    program, said = compile_said(tmp_path, model, "--untie", "--optimizer=sgd", "--training-mode")
    assert "--untie" not in said
    classes = classes_of(program)
    statistics = {entry for entry, (kind, _) in classes.items() if kind == "statistic"}
    assert statistics == {entry for entry in classes if "running" in entry}
    # `grad` uses the running statistics, as in evaluation.
    data = {"x": arrays["x"], "target": arrays["target"]}
    assert check_gradients(program.grad(data), arrays, classes) >= 6 - 4 * (name == "zero_scale")
    np.savez(tmp_path / "d.npz", **data)
    words = ("--data", tmp_path / "d.npz", "--batch", str(len(data["x"])), "--lr", "1", "--quiet", "--save")
    harness.check_succeeded(program.run("train", *words, tmp_path / "saved.onnx"))
    saved = read_initializers(tmp_path / "saved.onnx")
    for key in [key for key in arrays if key.startswith("after.")]:
        entry = key.removeprefix("after.")
        np.testing.assert_allclose(saved[entry], arrays[key], rtol=1e-4, atol=1e-6, err_msg=entry)
    # One step of SGD with learning rate 1 from ones and zeros.
    start = 0 if name == "zero_scale" else 1
    np.testing.assert_allclose(saved["b.weight"], start - arrays["trained.b.weight"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(saved["b.bias"], -arrays["trained.b.bias"], rtol=1e-4, atol=1e-5)


def test_merged_batch_normalization(tmp_path):
    """A model of one untrained BatchNormalization has no trainable parameters without --untie."""
    make = onnx.helper.make_tensor_value_info
    arrays = {"one": np.ones(3, np.float32), "zero": np.zeros(3, np.float32)}
    node = onnx.helper.make_node("BatchNormalization", ["x", "one", "zero", "zero", "one"], ["y"])
    ends = [make(name, onnx.TensorProto.FLOAT, ["N", 3]) for name in "xy"]
    initializers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = onnx.helper.make_graph([node], "graph", ends[:1], ends[1:], initializers)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    harness.check_refused(model, tmp_path, ["--loss=mse"], 1, "--untie separates those that are merged")
    compile_said(tmp_path, tmp_path / "model.onnx", "--untie", "--compile-to=loss")


def test_suggested_options(tmp_path):
    """Messages do not suggest an option that is already given."""
    model = INPUTS / "fresh_norms.onnx"
    for options in (("--training-mode",), ("--training-mode", "--untie=^ln.weight$")):
        words = [harness.require_tool("bppsa-compile"), model, "--loss=mse", "-o", tmp_path / "out", *options]
        failed = harness.run(*words)
        assert failed.returncode == 1 and "holds running statistics" in failed.stderr
        assert ("--untie" in failed.stderr) == (len(options) == 1)
    _, said = compile_said(tmp_path, model, "--compile-to=loss", "--untie=^ln.weight$", "--train=^val_22$")
    assert "'ln.bias' (also for" in said and "they do not match --untie='^ln.weight$'" in said
    assert "'val_25' (folded from constants); they do not match --train='^val_22$'" in said


def test_nothing_to_train(tmp_path):
    """The message gives the reasons of all initializers, and --freeze compiles the model anyway."""
    model = onnx.load(INPUTS / "steps.onnx")
    del model.graph.node[-1]
    greater = next(node for node in model.graph.node if node.op_type == "Greater")
    model.graph.output[0].name = "flags"
    model.graph.node.append(onnx.helper.make_node("Cast", greater.output, ["flags"], to=onnx.TensorProto.FLOAT))
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4
    harness.check_refused(model, tmp_path, ["--loss=mse"], 1, f"nothing to train: 'sign' ({PATH}), 'round' ({PATH})")
    onnx.save(model, tmp_path / "model.onnx")
    compile_said(tmp_path, tmp_path / "model.onnx", "--freeze=.", "--compile-to=loss")
