"""ONNX's own node tests of RNN, GRU and LSTM: the outputs of the forward pass."""

import functools
import warnings

import harness
import numpy as np
import pytest

NAMES = """
    test_gru_batchwise test_gru_bidirectional test_gru_defaults test_gru_reverse test_gru_seq_length
    test_gru_with_initial_bias test_lstm_batchwise test_lstm_bidirectional test_lstm_defaults
    test_lstm_reverse test_lstm_with_initial_bias test_lstm_with_peepholes test_rnn_seq_length
    test_simple_rnn_batchwise test_simple_rnn_bidirectional test_simple_rnn_defaults
    test_simple_rnn_reverse test_simple_rnn_with_initial_bias
""".split()

# Tests of features that the compiler refuses, and what its message must name.  A refused feature
# that starts to compile must leave this list.
REFUSED = {"test_lstm_with_peepholes": "LSTM"}


@functools.cache
def node_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from tests of other operators, on purpose
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    return {
        case.name: case
        for case in cases
        if any(node.op_type in ("RNN", "GRU", "LSTM") for node in case.model.graph.node)
    }


def test_every_node_test_is_listed():
    assert set(NAMES) == set(node_cases())


@pytest.mark.parametrize("name", NAMES)
def test_node(name):
    case = node_cases()[name]
    model = case.model
    if name in REFUSED:
        with pytest.raises(harness.CompileError, match=REFUSED[name]) as refusal:
            harness.compile_model(model, "--loss=mse")
        assert refusal.value.status == 1
        return
    program = harness.compile_model(model, "--loss=mse")
    inputs, outputs = case.data_sets[0]
    found = program.infer(dict(zip([i.name for i in model.graph.input], inputs)))
    assert set(found) == {o.name for o in model.graph.output}
    for info, expected in zip(model.graph.output, outputs):
        np.testing.assert_allclose(found[info.name], expected, rtol=case.rtol, atol=case.atol)
