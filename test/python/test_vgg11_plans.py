# Part of the bppsa project, under the MIT License.
"""The study of pruned VGG-11: its patterns, and the counts of the paper's published code."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import vgg11_plans

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPT = pathlib.Path(os.environ.get("BPPSA_BUILD_DIR", ROOT / "build")) / "bin/bppsa-opt"


def test_convolution_pattern_is_transposed_jacobian():
    """The pattern matches a convolution of unit images."""
    random = np.random.default_rng(1)
    rows, cols = vgg11_plans.pruned_convolution(random, 2, 3, 4, kept=0.4)
    weights = np.random.default_rng(1).random((3, 2, 3, 3)) < 0.4
    for row, columns in enumerate(rows):
        image = np.zeros((2, 6, 6))
        image.reshape(2, 6, 6)[row // 16, row // 4 % 4 + 1, row % 4 + 1] = 1
        windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
        result = np.einsum("iyxkl,oikl->oyx", windows, weights)
        assert sorted(columns) == list(np.flatnonzero(result.reshape(-1)))
    assert cols == 3 * 4 * 4


def test_counts_match_published_code(tmp_path):
    if not OPT.exists():
        pytest.skip("bppsa-opt is not built")
    output = tmp_path / "plans.json"
    command = [sys.executable, vgg11_plans.__file__, f"--opt={OPT}", "-o", output]
    subprocess.run(list(map(str, command)), check=True)
    sample = next(r for r in json.loads(output.read_text()) if r["zeros"] == "sample")
    # Steps, total FLOPs and critical-path FLOPs for hybrid:0 to hybrid:3. The paper's code also
    # forms products that are never used.
    published = [(21, 1.87e6, 1.87e6), (12, 6.5e6, 3.0e6), (8, 5.2e7, 3.1e7), (7, 3.1e8, 2.9e8)]
    for plan, (steps, flops, critical_path) in zip(sample["plans"], published):
        assert plan["steps"] == steps
        assert plan["flops"] == pytest.approx(flops, rel=0.2)
        assert plan["critical_path_flops"] == pytest.approx(critical_path, rel=0.2)


def test_plan_of_the_cost_model(tmp_path):
    """For 5 us launch latency and 6 TFLOP/s, the cost model selects two levels like the paper."""
    if not OPT.exists():
        pytest.skip("bppsa-opt is not built")
    chain = tmp_path / "chain.mlir"
    vgg11_plans.write_chain(chain, vgg11_plans.links(0.03, of_sample=True))
    options = "algorithm=auto workers=1024 step-overhead=30000000"
    command = [OPT, chain, f"--bppsa-scan-links={options}", "--remarks-filter=scan", "-o", os.devnull]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert 'Remark="hybrid:2 scan of 22 links' in done.stderr
