"""Compares the polynomials of bppsa-expand-math with numpy in float64, in ULPs."""

import numpy as np
import pytest
from kernels import Kernels

MAP = """
func.func @map(%x: tensor<?x1x1xf32>) -> tensor<?x1x1xf32> {{
  %0 = bppsa.recurrence sequences(%x : tensor<?x1x1xf32>) outputs(tensor<?x1x1xf32>) {{
  ^bb0(%v: vector<1xf32>):
    %y = {function} %v : vector<1xf32>
    bppsa.yield %y : vector<1xf32>
  }}
  return %0 : tensor<?x1x1xf32>
}}
"""

FUNCTIONS = {
    "math.tanh": (np.tanh, (-20, 20), 6),
    "math.exp": (np.exp, (-80, 80), 2),
    "math.log": (np.log, (1e-30, 1e30), 4),
    "bppsa.sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-80, 80), 4),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_in_ulps(tmp_path, name):
    exact, (lower, upper), limit = FUNCTIONS[name]
    kernels = Kernels(tmp_path, MAP.format(function=name))
    if lower > 0:
        x = np.geomspace(lower, upper, 20001)
    else:
        x = np.concatenate([np.linspace(lower, upper, 20001), np.linspace(-1, 1, 20001)])
    x = x.astype(np.float32).reshape(-1, 1, 1)
    (found,) = kernels.call("map", [x], [x.shape])
    expected = exact(x.astype(np.float64))
    # Near a zero of log, the rounding of the argument bounds the error.
    unit = np.spacing(np.maximum(np.abs(expected), 1e-30).astype(np.float32))
    if name == "math.log":
        unit = np.maximum(unit, np.float32(6e-8))
    assert np.max(np.abs(found - expected) / unit) <= limit


@pytest.mark.parametrize("name", ["math.tanh", "bppsa.sigmoid"])
def test_limits_and_nan(tmp_path, name):
    x = np.array([-np.inf, -1e30, -90, 90, 1e30, np.inf, np.nan], np.float32).reshape(-1, 1, 1)
    (found,) = Kernels(tmp_path, MAP.format(function=name)).call("map", [x], [x.shape])
    low = -1 if name == "math.tanh" else 0
    np.testing.assert_allclose(found.ravel()[:6], [low, low, low, 1, 1, 1], atol=1e-37)
    assert np.isnan(found.ravel()[6])
