"""ONNX's operator tests: the share of accepted tests, and some of them as compiled programs."""

import harness
import numpy as np
import onnx_node_tests
import pytest
from onnx_case import floats, op_case
from onnx_node_tests import LEAST_SHARE, PAGE, count, make_page, node_tests, share
from test_forward import interpret

TESTS = node_tests()

# Operators required in the importer's table in addition to recurrent and dense layers. ONNX tests
# Einsum only with doubles and bfloat16.
WANTED = """
    ArgMax ArgMin And Atan Attention BitCast Ceil Celu ConvTranspose Cos CumProd CumSum DFT DepthToSpace Floor GatherElements
    GatherND GlobalMaxPool Greater GreaterOrEqual GroupNormalization InstanceNormalization Less LessOrEqual
    LpNormalization LpPool Max Mean Min Mish Mod NegativeLogLikelihoodLoss Not OneHot Or Pad RMSNormalization Reciprocal
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceProd ReduceSumSquare Resize RotaryEmbedding
    Round STFT ScatterElements ScatterND Sign Sin SoftmaxCrossEntropyLoss Softsign SpaceToDepth Sum SwiGLU Swish
    TensorScatter ThresholdedRelu Tile Trilu Xor
""".split()


def test_shares_and_page():
    """All accepted tests have correct results, and the page lists the refused ones."""
    by_op = count(TESTS)
    wrong = [outcome for outcomes in by_op.values() for outcome in outcomes if outcome.status == "wrong"]
    assert not wrong
    assert not {op for op, outcomes in by_op.items() if share(outcomes) < LEAST_SHARE}
    assert set(WANTED) <= set(by_op)
    assert PAGE.read_text() == make_page(by_op), "run .venv/bin/python test/Import/onnx_node_tests.py"


PROGRAMS = """
    attention_3d_gqa_with_past_and_present attention_4d_attn_mask_bool_4d dft_opset19 dft_irfft
    reduce_log_sum_exp_empty_set resize_downsample_scales_cubic_antialias resize_tf_crop_and_resize
    scatter_elements_with_reduction_max scatternd_add stft_with_window training_dropout_zero_ratio upsample_nearest
""".split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    """The compiled program computes the results expected by ONNX."""
    test = TESTS[f"test_{name}"]
    found = harness.compile_model(test.case.model).infer(test.case.arrays)
    names = [output.name for output in test.case.model.graph.output]
    for output, wanted in zip(names, test.wanted, strict=True):
        np.testing.assert_allclose(found[output], wanted, rtol=max(test.tolerance, 1e-4), atol=2e-5)


def test_random_dropout_tests_are_not_counted():
    assert "test_training_dropout" not in TESTS and "test_training_dropout_zero_ratio" in TESTS


def test_old_opset_is_raised_if_unchanged():
    assert TESTS["test_not_2d"].case.model.opset_import[0].version == 7
    assert onnx_node_tests.check(TESTS["test_not_2d"]).status == "right"


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_class_out_of_range(op, tmp_path):
    """The loss of a class out of range is NaN, and that of an ignored class is zero."""
    for label in (-1, 3, 7):
        arrays = {"x": floats(2, 3), "t": np.array([1, label])}
        (loss,) = interpret(op_case(op, arrays, reduction="none"), tmp_path)
        assert np.isfinite(loss[0]) and np.isnan(loss[1])
        (loss,) = interpret(op_case(op, arrays, reduction="none", ignore_index=label), tmp_path)
        assert np.isfinite(loss[0]) and loss[1] == 0
