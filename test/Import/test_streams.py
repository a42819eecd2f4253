"""`--carry`: the imported loop over time steps, interpreted and compared with ONNX Runtime."""

import re

import harness
import numpy as np
import onnx
import pytest
import stream_models
from onnx import numpy_helper
from test_forward import ROLES
from test_refusals import refuse


def run_import(graph, arrays, directory):
    """Returns the outputs of the imported stream by name; missing states are zero."""
    translate = harness.require_tool("bppsa-translate")
    interpreter = harness.require_tool("bppsa-interpret")
    source, ir = directory / "model.onnx", directory / "model.mlir"
    source.write_bytes(graph.model.SerializeToString())
    harness.check_succeeded(harness.run(translate, "--import-onnx", source, "-o", ir, *graph.flags))
    (line,) = re.findall(r"^ *func\.func @forward\((.*)\{$", ir.read_text(), re.M)
    arguments, results = re.split(r"(?:^|(?<=\}))\) -> \(", line, maxsplit=1)
    values = {t.name: numpy_helper.to_array(t) for t in graph.model.graph.initializer} | arrays
    given = {f"arg{i}": values[name] for i, name in enumerate(ROLES.findall(arguments))}
    np.savez(directory / "in.npz", **given)
    command = [interpreter, ir, "--function=forward", "--inputs", directory / "in.npz"]
    harness.check_succeeded(harness.run(*command, "--outputs", directory / "out.npz"))
    with np.load(directory / "out.npz") as loaded:
        return {name: loaded[f"res{i}"] for i, name in enumerate(ROLES.findall(results))}


@pytest.mark.parametrize("name", stream_models.ALL)
@pytest.mark.parametrize("steps, samples", [(1, 1), (3, 2)])
def test_forward(name, steps, samples, tmp_path):
    graph = stream_models.ALL[name]
    arrays = stream_models.random_arrays(graph, steps, samples)
    wanted = stream_models.run_steps(graph, arrays, steps, samples)
    found = run_import(graph, arrays, tmp_path)
    assert set(found) == set(wanted)
    for output, array in wanted.items():
        assert found[output].shape == array.shape, output
        np.testing.assert_allclose(found[output], array, rtol=2e-5, atol=2e-6)


REFUSED = [
    ("cell", ["--carry=g:h_next"], ["the graph has no input 'g'", "'x', 'h'"]),
    ("cell", ["--carry=h:z"], ["the graph has no output 'z'", "'h_next', 'y'"]),
    ("cell", ["--carry=h"], ["--carry must be IN:OUT, found 'h'"]),
    ("cell", ["--carry=h:h_next,x:h_next"], ["--carry=x:h_next", "'h_next' is carried twice"]),
    ("cell", ["--carry=h:y"], ["--carry=h:y", "'h' is float [4]", "'y' is float []"]),
    ("cell", ["--carry=h:h_next", "--step-axis=x:0"], ["--step-axis=x:0", "size 4", "size 1"]),
    ("cell", ["--carry=h:h_next", "--step-axis=x:1"], ["has rank 1"]),
    ("cell", ["--carry=h:h_next", "--step-axis=z:0"], ["no input or output 'z'"]),
    ("cell", ["--carry=h:h_next", "--batch-axis=z:0"], ["no input or output 'z'"]),
    ("cell", ["--carry=h:h_next", "--batch-axis=x:0"], ["--batch-axis=x:0", "size 4"]),
    ("cell", ["--carry=h:h_next", "--batch-axis=y:0"], ["--batch-axis=y:0", "shape []"]),
    ("cell", ["--step-axis=x:0"], ["--step-axis needs --carry"]),
    ("lstm_stack", ["--carry=h0:h0n", "--step-axis=h0:0"], ["'h0' is carried from step to step"]),
    (
        "lstm_stack",
        ["--carry=h0:h0n", "--step-axis=x:1", "--batch-axis=x:1"],
        ["axis 1 of 'x' cannot carry both"],
    ),
    ("lstm_stack", ["--carry=h0:h0n", "--step-axis=x:0", "--step-axis=x:1"], ["axes 0 and 1"]),
    ("rated", ["--carry=h:h_next", "--bind=sr=8000"], ["'frame'", "--bind=frame=NUMBER"]),
    ("rated", ["--carry=h:h_next", "--bind=sr=8000", "--step-axis=x:1"], ["--bind=frame=1"]),
    ("rated", ["--carry=h:h_next", "--bind=frame=6", "--batch-axis=x:0"], ["(If)", "'is_fast' depends on data"]),
]


@pytest.mark.parametrize("name, options, words", REFUSED)
def test_refused_options(name, options, words, tmp_path):
    refuse(tmp_path, stream_models.ALL[name].model, *words, options=options)


def test_stream_without_other_inputs_is_refused(tmp_path):
    model = onnx.ModelProto()
    model.CopyFrom(stream_models.ALL["cell"].model)
    model.graph.node[1].input[1] = "h"
    del model.graph.input[0]
    refuse(tmp_path, model, "the number of steps is unknown", options=["--carry=h:h_next"])
