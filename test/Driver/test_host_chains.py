"""CPU programs rule out scans by operation counts, which are checked against derived ones."""

import json

import harness
import models
import pytest

LOSS = "--loss=cross-entropy"


def host_chains(spec):
    """Returns the chains in the program description."""
    content = harness.compile_model(models.build(spec), LOSS).path.read_bytes()
    begin = content.index(b"[", content.index(b'"host_chains":'))
    return json.JSONDecoder().raw_decode(content[begin : begin + 4096].decode("latin-1"))[0]


@pytest.mark.parametrize("hidden", [4, 12])
def test_rnn(hidden):
    """g' = W^T (g (1 - h^2)); the chain emits the cotangent of the pre-activation."""
    (chain,) = host_chains(models.Spec("RNN", hidden=hidden))
    assert chain == {
        "rows": hidden,
        "columns": hidden,
        "has_offset": False,
        # 1 - h^2 takes two operations per row and does not depend on the column.
        "column_operations": hidden * (hidden + 1),
        "link_operations": hidden * (hidden + 3),
        # Three operations, then a product for each block of eight rows.
        "depth": 3 + -(-hidden // 8) * hidden + 4,
        # With one vector for all rows, a product takes one operation per column. Two interleaved
        # partial sums depend on the vector and then on each other.
        "unit_operations": hidden + 3,
        "unit_depth": 3 + hidden // 2 + 1 + 4,
        "bytes": 4 * (hidden + hidden),
    }


def test_lstm_layers_with_loss_at_each_step():
    """Two chains in the order of the backward pass, with cotangents that enter at each step."""
    chains = host_chains(models.Spec("LSTM", hidden=8, layers=2, head="steps"))
    assert len(chains) == 2
    for chain in chains:
        assert (chain["rows"], chain["columns"], chain["has_offset"]) == (16, 16, True)
        assert chain["column_operations"] >= 4 * 8 * 8
        assert chain["link_operations"] >= chain["column_operations"]
