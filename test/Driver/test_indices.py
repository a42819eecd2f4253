"""Index arrays: negative indices count from the end; other indices out of range are refused."""

import harness
import numpy as np
import onnxruntime
import pytest
import references
from onnx import TensorProto, helper, numpy_helper

ROWS, WIDTH = 7, 3
TABLE = np.random.default_rng(0).standard_normal((ROWS, WIDTH)).astype(np.float32)


def build(*nodes, shape=("T", "N"), dtype=TensorProto.INT64):
    """y[T, N, 3] = table[rows]; `nodes` compute `rows` from the input `tokens`."""
    nodes = [*nodes, helper.make_node("Gather", ["table", "rows"], ["y"], axis=0)]
    graph = helper.make_graph(
        nodes,
        "embedding",
        [helper.make_tensor_value_info("tokens", dtype, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["T", "N", WIDTH])],
        [numpy_helper.from_array(TABLE, "table"), numpy_helper.from_array(np.int64(1), "one")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


PLAIN = build(helper.make_node("Identity", ["tokens"], ["rows"]))


def compiled(model, batch_axis=1):
    axes = [f"--batch-axis={name}:{batch_axis}" for name in ("tokens",)] + ["--batch-axis=y:1"]
    return harness.compile_model(model, "--loss=mse", *axes)


def arrays(tokens):
    """Returns random tokens and targets, with one token of the last sample but one replaced."""
    target = np.random.default_rng(1).standard_normal((4, 6, WIDTH)).astype(np.float32)
    found = np.random.default_rng(2).integers(-ROWS, ROWS, (4, 6))
    found[2, 4] = tokens
    return {"tokens": found, "target": target}


def test_negative_indices_count_from_the_end():
    data = arrays(-ROWS)
    (expected,) = onnxruntime.InferenceSession(PLAIN.SerializeToString()).run(
        None, {"tokens": data["tokens"]}
    )
    program = compiled(PLAIN)
    np.testing.assert_array_equal(program.infer(data)["y"], expected)
    exact, single = references.gradients(PLAIN, data, "mse")
    harness.check_gradients(program.grad(data), exact, single)


@pytest.mark.parametrize("index", [ROWS, -ROWS - 1, 2**40])
@pytest.mark.parametrize("command", ["train", "eval", "grad", "infer"])
def test_indices_out_of_range_are_refused(command, index, tmp_path):
    data = arrays(index)
    if command == "infer":
        del data["target"]
    np.savez(tmp_path / "d.npz", **data)
    outputs = {"train": "--save", "grad": "--out", "infer": "--out"}
    options = [outputs[command], tmp_path / "out"] if command in outputs else []
    result = compiled(PLAIN).run(command, "--data", tmp_path / "d.npz", *options)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.endswith(
        f"array 'tokens': element [2, 4] is {index}, but the model takes it as an index; "
        "expected -7 to 6\n"
    )
    assert not (tmp_path / "out").exists()


def refusal(model, data, tmp_path, **options):
    np.savez(tmp_path / "d.npz", **data)
    result = compiled(model, **options).run(
        "infer", "--data", tmp_path / "d.npz", "--out", tmp_path / "out"
    )
    return result.stderr


def test_transposed_and_cast_indices_are_checked(tmp_path):
    model = build(
        helper.make_node("Transpose", ["tokens"], ["turned"], perm=[1, 0]),
        helper.make_node("Cast", ["turned"], ["rows"], to=TensorProto.INT64),
        shape=("N", "T"),
        dtype=TensorProto.INT32,
    )
    tokens = np.zeros((6, 4), np.int32)
    tokens[5, 1] = ROWS
    message = refusal(model, {"tokens": tokens}, tmp_path, batch_axis=0)
    assert "element [5, 1] is 7, but the model takes it as an index" in message


def test_computed_indices_are_clamped():
    model = build(helper.make_node("Add", ["tokens", "one"], ["rows"]))
    tokens = np.array([[0, ROWS - 1, ROWS + 5]])
    found = compiled(model).infer({"tokens": tokens})["y"]
    np.testing.assert_array_equal(found, TABLE[np.minimum(tokens + 1, ROWS - 1)])


def test_index_bounds_may_be_symbols(tmp_path):
    """y = x[steps]: the indices select time steps."""
    graph = helper.make_graph(
        [helper.make_node("Gather", ["x", "steps"], ["y"], axis=0)],
        "pick",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "N"]),
            helper.make_tensor_value_info("steps", TensorProto.INT64, ["K"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["K", "N"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    axes = ["--batch-axis=x:1", "--batch-axis=y:1"]
    program = harness.compile_model(model, "--loss=mse", *axes)
    assert program.info()["inputs"][1]["index_bounds"] == ["T"]
    x = np.random.default_rng(0).standard_normal((5, 2)).astype(np.float32)
    np.testing.assert_array_equal(program.infer({"x": x, "steps": [-5, 4]})["y"], x[[-5, 4]])
    np.savez(tmp_path / "d.npz", x=x, steps=[4, 5])
    result = program.run("infer", "--data", tmp_path / "d.npz", "--out", tmp_path / "out")
    assert result.returncode == 1 and "element [1] is 5" in result.stderr
    assert result.stderr.endswith("expected -5 to 4\n")
