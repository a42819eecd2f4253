"""Options that select explicit Jacobians for chains of layers, and the limit on their memory."""

import harness
import pytest

LENET = harness.ROOT / "examples" / "lenet5.onnx"


def compile_to_scan(directory, *options):
    compiler = harness.require_tool("bppsa-compile")
    ir = directory / "scan.mlir"
    result = harness.run(compiler, LENET, "-o", ir, "--compile-to=scan", *options)
    return result, ir.read_text() if ir.exists() else None


@pytest.mark.parametrize(
    "options, applies, composes",
    [
        ([], False, False),
        (["--backward=sequential", "--scan=blelloch"], False, False),
        (["--scan=linear"], True, False),
        (["--scan=blelloch"], True, True),
        (["--backward=scan", "--scan=hybrid:1"], True, True),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_explicit_jacobians(tmp_path, options, applies, composes):
    result, ir = compile_to_scan(tmp_path, *options)
    harness.check_succeeded(result)
    assert ("jacobian.sparse_apply" in ir) == applies
    assert ("jacobian.sparse_compose" in ir) == composes


def test_scan_without_plan_has_explicit_jacobians(tmp_path):
    result, ir = compile_to_scan(tmp_path, "--backward=scan")
    harness.check_succeeded(result)
    assert "jacobian.sparse_apply" in ir


@pytest.mark.parametrize("limit, bytes_", [("1K", 1024), ("2000", 2000)])
def test_too_small_memory_limit(tmp_path, limit, bytes_):
    result, ir = compile_to_scan(tmp_path, "--scan=blelloch", f"--memory-limit={limit}")
    assert result.returncode == 1 and ir is None
    assert result.stderr.count("\n") == 1
    assert f"for each of 1 samples), more than the memory limit of {bytes_};" in result.stderr


@pytest.mark.parametrize("limit", ["0", "1G"])
def test_sufficient_memory_limit(tmp_path, limit):
    result, _ = compile_to_scan(tmp_path, "--scan=blelloch", f"--memory-limit={limit}")
    harness.check_succeeded(result)
