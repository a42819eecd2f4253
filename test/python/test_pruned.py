# Part of the bppsa project, under the MIT License.
"""Pruned weights of an in-process program."""

import numpy as np
import onnx
import pytest
from images import ImageBuilder
from onnx import numpy_helper

bppsa = pytest.importorskip("bppsa")
pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")


def test_update_keeps_pruned_weights_zero():
    model = ImageBuilder((40,)).linear(4).finish()
    (weight,) = (tensor for tensor in model.graph.initializer if len(tensor.dims) == 2)
    array = numpy_helper.to_array(weight).copy()
    array[array < 0] = 0
    array.flat[:32] = 0
    weight.CopyFrom(numpy_helper.from_array(array, weight.name))
    options = {"loss": "cross-entropy", "optimizer": "sgd", "backward": "scan"}
    program = bppsa.compile(onnx.ModelProto.SerializeToString(model), prune_zeros=True, **options)
    ones = {name: np.ones(view.shape, np.float32) for name, view in program.parameters.items()}
    program.update(ones, lr=0.5)
    expected = np.where(array != 0, array - 0.5, 0)
    np.testing.assert_allclose(program.parameters[weight.name], expected, rtol=1e-6)
