"""Chains of Jacobians in archives, written by the interpreter and read back as IR."""

import json

import harness
import images
import models
import numpy as np
import onnx
import onnxruntime
import pytest
import references


def run(tool, *arguments):
    return harness.run(harness.require_tool(tool), *arguments)


def dense(archive, link):
    """Returns the dense matrices of a link, per sample or shared by all samples."""
    rows, cols = archive[f"link_{link}.shape"]
    starts, columns = archive[f"link_{link}.indptr"], archive[f"link_{link}.indices"]
    data = archive[f"link_{link}.data"]
    matrices = np.zeros((*data.shape[:-1], rows, cols))
    places = np.repeat(np.arange(rows), np.diff(starts))
    matrices[..., places, columns] = data
    return matrices


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """The Jacobian chain of a small network, with the arrays of the call that produced it."""
    folder = tmp_path_factory.mktemp("chain")
    b = images.ImageBuilder((2, 5, 4))
    b.conv(3, (3, 3), pads=(1, 1, 1, 1)).layer("Relu").pool("MaxPool", (2, 2)).flatten()
    model = b.linear(5).layer("Tanh").linear(3).finish()
    onnx.save(model, folder / "model.onnx")
    options = ["--loss=cross-entropy", "--compile-to=loss", "--emit=mlir", "-o", folder / "loss.mlir"]
    harness.check_succeeded(run("bppsa-compile", folder / "model.onnx", *options))
    differentiate = "--bppsa-differentiate=name=grad wrt=all links=true"
    harness.check_succeeded(
        run("bppsa-opt", folder / "loss.mlir", differentiate, "-o", folder / "links.mlir")
    )
    apply = "--bppsa-scan-links=algorithm=linear"
    harness.check_succeeded(
        run("bppsa-opt", folder / "links.mlir", apply, "-o", folder / "list.mlir")
    )
    arrays = models.data(model, {"N": 4}, "cross-entropy")
    values = [arrays["x"]]
    values += [onnx.numpy_helper.to_array(i) for i in model.graph.initializer]
    values += [arrays["target"], np.ones(arrays["target"].shape, np.float32)]
    np.savez(folder / "in.npz", **{f"arg{i}": v for i, v in enumerate(values)})
    options = ["--function=grad", f"--inputs={folder}/in.npz", f"--outputs={folder}/out.npz"]
    harness.check_succeeded(
        run("bppsa-interpret", folder / "list.mlir", *options, f"--jacobians={folder}/chain.npz")
    )
    return folder, model, arrays


def test_rules_and_jacobians_of_links_agree(chain, tmp_path):
    """Differentiation rules of links give the same results as their explicit Jacobians."""
    folder, _, _ = chain
    options = ["--function=grad", f"--inputs={folder}/in.npz", f"--outputs={tmp_path}/out.npz"]
    harness.check_succeeded(run("bppsa-interpret", folder / "links.mlir", *options))
    with np.load(folder / "out.npz") as products, np.load(tmp_path / "out.npz") as rules:
        assert products.files == rules.files
        for name in products.files:
            np.testing.assert_allclose(products[name], rules[name], rtol=1e-12, atol=1e-15)


def test_links_create_no_jacobians(chain, tmp_path):
    folder, _, _ = chain
    options = ["--function=grad", f"--inputs={folder}/in.npz", f"--outputs={tmp_path}/out.npz"]
    options.append(f"--jacobians={tmp_path}/chain.npz")
    result = run("bppsa-interpret", folder / "links.mlir", *options)
    assert result.returncode == 1
    assert "run bppsa-scan-links=algorithm=linear first" in result.stderr


def test_product_of_links_is_the_gradient(chain):
    """The chain maps the logits' cotangent to the image gradient, as in float64 autograd."""
    folder, model, arrays = chain
    with np.load(folder / "chain.npz") as archive:
        links = [dense(archive, k) for k in range(1, 7)]
        assert len(archive.files) == 4 * 6
    exact, _ = references.gradients(model, arrays, "cross-entropy")
    # The cotangent of the last layer is (softmax - one-hot) / N.
    session = onnxruntime.InferenceSession(model.SerializeToString())
    logits = session.run(None, {"x": arrays["x"]})[0].astype(np.float64)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    cotangent = weights / weights.sum(-1, keepdims=True)
    cotangent[np.arange(4), arrays["target"]] -= 1
    cotangent /= 4
    for link in links:
        cotangent = np.einsum("...rc,bc->br" if link.ndim == 2 else "brc,bc->br", link, cotangent)
    gradient = cotangent.reshape(arrays["x"].shape)
    np.testing.assert_allclose(gradient, exact["x"], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("drop", [False, True])
def test_read_chain_is_evaluated(chain, drop, tmp_path):
    folder, _, _ = chain
    options = ["--drop-zeros"] if drop else []
    options += ["-o", tmp_path / "chain.mlir"]
    harness.check_succeeded(
        run("bppsa-translate", "--import-jacobians", folder / "chain.npz", *options)
    )
    evaluate = f"--bppsa-evaluate-plan=algorithms=linear,hybrid:1 output={tmp_path}/plans.json"
    harness.check_succeeded(run("bppsa-opt", tmp_path / "chain.mlir", evaluate, "-o", tmp_path / "o"))
    (found,) = json.loads((tmp_path / "plans.json").read_text())["chains"]
    nonzeros = [s["nonzeros"] for s in found["structures"] for _ in range(s["repeat"])]
    with np.load(folder / "chain.npz") as archive:
        data = [archive[f"link_{k}.data"] for k in range(1, 7)]
    kept = [np.any(d.reshape(-1, d.shape[-1]) != 0, axis=0).sum() for d in data]
    assert nonzeros == ([int(k) for k in kept] if drop else [d.shape[-1] for d in data])
    assert found["batch"] == 4 and found["plans"][0]["steps"] == 5


GOOD = {
    "link_1.shape": np.array([2, 3]),
    "link_1.indptr": np.array([0, 1, 3]),
    "link_1.indices": np.array([2, 0, 1]),
    "link_1.data": np.array([1.0, 2.0, 3.0]),
    "link_2.shape": np.array([4, 2]),
    "link_2.indptr": np.array([0, 1, 1, 1, 1]),
    "link_2.indices": np.array([1]),
    "link_2.data": np.ones((5, 1)),
}
BAD = {
    "empty": ({k: None for k in GOOD}, "chain.npz': holds no arrays"),
    "nothing": ({"x": np.ones(1)} | {k: None for k in GOOD}, "holds no chain of jacobians"),
    "missing": ({"link_2.data": None}, "'link_2.data' is missing or does not hold floats"),
    "kind": ({"link_1.indices": np.ones(3)}, "'link_1.indices' is missing or does not hold integers"),
    "shape": ({"link_1.shape": np.array([0, 3])}, "'link_1.shape' must hold the numbers of rows"),
    "starts": ({"link_1.indptr": np.array([0, 3, 2])}, "'link_1.indptr' must ascend"),
    "columns": ({"link_1.indices": np.array([3, 0, 1])}, "must hold columns from 0 to 2"),
    "data": ({"link_1.data": np.ones(4)}, "'link_1.data' must hold 3 nonzeros"),
    "compose": ({"link_2.shape": np.array([4, 3])}, "has 3 columns, but the link before it 2 rows"),
    "samples": ({"link_1.data": np.ones((3, 3))}, "'link_2.data' has 5 samples, but a link before"),
    "others": ({"x": np.ones(1)}, "four arrays for each link from link_1 to link_2 and no others"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_chain_rejected(name, tmp_path):
    changes, message = BAD[name]
    arrays = {k: v for k, v in {**GOOD, **changes}.items() if v is not None}
    np.savez(tmp_path / "chain.npz", **arrays)
    result = run("bppsa-translate", "--import-jacobians", tmp_path / "chain.npz")
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.count("\n") == 1 and message in result.stderr, result.stderr


def test_chain_as_ir(tmp_path):
    np.savez(tmp_path / "chain.npz", **GOOD)
    result = harness.check_succeeded(
        run("bppsa-translate", "--import-jacobians", tmp_path / "chain.npz")
    )
    assert "<2x3xf32, csr(#jacobian.pattern<2x3, [[2], [0, 1]], [0, 1]>)>" in result.stdout
    assert ", batch = 5>" in result.stdout
    assert result.stdout.count("jacobian.apply") == 2


def test_function_without_jacobians(tmp_path):
    (tmp_path / "f.mlir").write_text("func.func @main() { return }\n")
    options = [f"--outputs={tmp_path}/out.npz", f"--jacobians={tmp_path}/chain.npz"]
    result = run("bppsa-interpret", tmp_path / "f.mlir", *options)
    assert result.returncode == 1
    assert "@main assembles no Jacobians; differentiate with links=true and run " in result.stderr
