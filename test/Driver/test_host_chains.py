"""The counts of links by which programs for CPUs rule scans out, against counts by hand."""

import json

import harness
import models
import pytest

LOSS = "--loss=cross-entropy"


def host_chains(spec):
    """What a program says of its chains, in its description."""
    content = harness.compile_model(models.build(spec), LOSS).path.read_bytes()
    begin = content.index(b"[", content.index(b'"host_chains":'))
    return json.JSONDecoder().raw_decode(content[begin : begin + 4096].decode("latin-1"))[0]


@pytest.mark.parametrize("hidden", [4, 12])
def test_rnn(hidden):
    """g' = W^T (g (1 - h^2)); what is emitted is the cotangent of the pre-activation."""
    (chain,) = host_chains(models.Spec("RNN", hidden=hidden))
    assert chain == {
        "rows": hidden,
        "columns": hidden,
        "has_offset": False,
        # 1 - h^2 takes two operations a row, and does not depend on the column.
        "column_operations": hidden * (hidden + 1),
        "link_operations": hidden * (hidden + 3),
        # Three operations, then a product for each block of eight rows.
        "depth": 3 + -(-hidden // 8) * hidden + 4,
        # With a vector for all rows, a product takes an operation for each column, and two sums of
        # them side by side wait for the vector and then for each other.
        "unit_operations": hidden + 3,
        "unit_depth": 3 + hidden // 2 + 1 + 4,
        "bytes": 4 * (hidden + hidden),
    }


def test_layers_with_losses_on_every_step():
    """Two chains, in the order of the backward pass, with cotangents that enter at each step."""
    chains = host_chains(models.Spec("LSTM", hidden=8, layers=2, head="steps"))
    assert len(chains) == 2
    for chain in chains:
        assert (chain["rows"], chain["columns"], chain["has_offset"]) == (16, 16, True)
        assert chain["column_operations"] >= 4 * 8 * 8
        assert chain["link_operations"] >= chain["column_operations"]
