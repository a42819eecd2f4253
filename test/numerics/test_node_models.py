"""ONNX's node tests of RNN, GRU and LSTM: outputs, and gradients against float64 JAX."""

import functools
import warnings

import harness
import numpy as np
import pytest
import references

NAMES = """
    test_gru_batchwise test_gru_bidirectional test_gru_defaults test_gru_reverse test_gru_seq_length
    test_gru_with_initial_bias test_lstm_batchwise test_lstm_bidirectional test_lstm_defaults
    test_lstm_reverse test_lstm_with_initial_bias test_lstm_with_peepholes test_rnn_seq_length
    test_simple_rnn_batchwise test_simple_rnn_bidirectional test_simple_rnn_defaults
    test_simple_rnn_reverse test_simple_rnn_with_initial_bias
""".split()
TARGETS = {"cpu": (), "emulated": ("--target=cuda", "--emulate")}


@functools.cache
def node_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # collecting tests of other operators causes warnings
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    return {
        case.name: case
        for case in cases
        if any(node.op_type in ("RNN", "GRU", "LSTM") for node in case.model.graph.node)
    }


def test_every_node_test_is_listed():
    assert set(NAMES) == set(node_cases())


def inputs_of(case):
    inputs, outputs = case.data_sets[0]
    return dict(zip([i.name for i in case.model.graph.input], inputs)), outputs


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_outputs(name, target):
    case = node_cases()[name]
    program = harness.compile_model(case.model, "--loss=mse", *TARGETS[target])
    arrays, outputs = inputs_of(case)
    found = program.infer(arrays)
    assert set(found) == {o.name for o in case.model.graph.output}
    for info, expected in zip(case.model.graph.output, outputs):
        np.testing.assert_allclose(found[info.name], expected, rtol=case.rtol, atol=case.atol)


# test_gpu.py covers the scan plans on GPUs.
@pytest.mark.parametrize("target, backward", [("cpu", "sequential"), ("cpu", "scan"), ("emulated", "sequential")])
@pytest.mark.parametrize("name", NAMES)
def test_gradients(name, target, backward):
    case = node_cases()[name]
    program = harness.compile_model(case.model, "--loss=mse", *TARGETS[target])
    arrays, outputs = inputs_of(case)
    arrays["target"] = np.random.default_rng(5).standard_normal(outputs[0].shape, np.float32)
    exact, single = references.gradients(case.model, arrays, "mse")
    harness.check_gradients(program.grad(arrays, f"--backward={backward}"), exact, single)
