# Part of the bppsa project, under the MIT License.
"""The links of VGG-11 and the sparsity of their Jacobians: Table 1 of the BPPSA paper."""

import json
import re

import harness
import images
import numpy as np
import onnx
import pytest

# Height and width of the input images of the eight convolutions.
SIZES = (32, 16, 8, 8, 4, 4, 2, 2)


def run(tool, *arguments):
    return harness.check_succeeded(harness.run(harness.require_tool(tool), *arguments))


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """Imports the paper's network with the paper's widths where Table 1 depends on them."""
    folder = tmp_path_factory.mktemp("vgg11")
    onnx.save(images.vgg11(64, hidden=False), folder / "vgg11.onnx")
    options = ["--mlir-print-debuginfo", "-o", folder / "vgg11.mlir"]
    run("bppsa-translate", "--import-onnx", folder / "vgg11.onnx", *options)
    return folder / "vgg11.mlir"


def convolution_zeros(size):
    """Sparsity of the Jacobian of a 3 x 3 convolution with padding 1 on square images."""
    return 1 - ((3 * size - 2) / size**2) ** 2


def test_fractions_of_table_1(graph, tmp_path):
    options = ["--bppsa-infer-structure", "--remarks-filter=structure", "-o", tmp_path / "out.mlir"]
    remarks = run("bppsa-opt", graph, *options).stderr
    documented = "3072x65536, csr with 1696512 entries, 99.1573 % of it zero, shared by all samples"
    assert f"link 22 of 22, Conv_0: {documented}" in remarks
    assert documented in (harness.ROOT / "docs" / "Reference" / "Passes.md").read_text()
    pattern = r'"link (\d+) of (\d+), [^:]*: (\d+)x(\d+), (\w+).*?([\d.]+) % of it zero, (one|shared)'
    links = re.findall(pattern, remarks)
    assert [int(link[0]) for link in links] == list(range(1, 23))
    assert {link[1] for link in links} == {"22"}
    # Cotangents reach the last layer first.
    layers = [
        {"rows": int(r), "cols": int(c), "zeros": float(z) / 100, "shared": s == "shared", "as": a}
        for _, _, r, c, a, z, s in reversed(links)
    ]
    # Convolutions, ReLUs, max pools and the linear layer.
    kinds = "crp crp cr crp cr crp cr crp l".replace(" ", "")
    sizes = iter(SIZES)
    for kind, layer in zip(kinds, layers):
        if kind == "c":
            assert layer["shared"]
            assert layer["zeros"] == pytest.approx(convolution_zeros(next(sizes)), abs=1e-6)
        elif kind == "r":
            assert layer["as"] == "diagonal" and not layer["shared"]
            assert layer["zeros"] == pytest.approx(1 - 1 / layer["rows"], abs=1e-6)
        elif kind == "p":
            # Each row has one entry: the window of the element.
            assert layer["rows"] == 4 * layer["cols"] and not layer["shared"]
            assert layer["zeros"] == pytest.approx(1 - 4 / layer["rows"], abs=1e-6)
        else:
            assert (layer["rows"], layer["cols"], layer["zeros"]) == (512, 10, 0)
    # The first layers as printed in the paper.
    paper = [0.99157, 0.99998, 0.99994]
    assert [layer["zeros"] for layer in layers[:3]] == pytest.approx(paper, abs=1e-5)


def test_plans_have_the_steps_of_the_paper(graph, tmp_path):
    plans = "algorithms=linear,hybrid:1,hybrid:2,hybrid:3"
    options = f"--bppsa-evaluate-plan={plans} output={tmp_path}/plans.json"
    run("bppsa-opt", graph, "--bppsa-infer-structure", options, "-o", tmp_path / "out.mlir")
    (chain,) = json.loads((tmp_path / "plans.json").read_text())["chains"]
    assert chain["links"] == 22
    assert [plan["steps"] for plan in chain["plans"]] == [21, 12, 8, 7]


@pytest.mark.parametrize("wrt, links", [("all", 22), ("parameters", 21)])
def test_program_has_the_links_of_the_report(wrt, links, tmp_path):
    """If the gradient of the image is not needed, the first convolution is no link."""
    onnx.save(images.vgg11(2, hidden=False), tmp_path / "model.onnx")
    options = ["--loss=cross-entropy", "--compile-to=loss", "--emit=mlir"]
    run("bppsa-compile", tmp_path / "model.onnx", *options, "-o", tmp_path / "loss.mlir")
    passes = [f"--bppsa-differentiate=wrt={wrt} links=true", "--bppsa-scan-links=algorithm=hybrid:2"]
    passes += ["--remarks-filter=links|scan", "-o", tmp_path / "scan.mlir"]
    remarks = run("bppsa-opt", tmp_path / "loss.mlir", *passes).stderr
    assert f"chain of {links} links" in remarks
    assert f"hybrid:2 scan of {links} links" in remarks


def read_links(path):
    """Returns the structure, sizes and nonzeros of each link of the longest evaluated chain."""
    chains = json.loads(path.read_text())["chains"]
    keys = ("structure", "rows", "cols", "nonzeros")
    structures = max(chains, key=lambda chain: chain["links"])["structures"]
    return [tuple(s[key] for key in keys) for s in structures for _ in range(s["repeat"])]


def test_pruned_program_has_the_links_of_the_report(tmp_path):
    """The compiled chain of Jacobians has the links of the reported chain."""
    model = images.vgg11(4, hidden=False)
    for weight in model.graph.initializer:
        values = onnx.numpy_helper.to_array(weight)
        if values.ndim > 1:
            kept = np.abs(values) >= np.percentile(np.abs(values), 97)
            weight.CopyFrom(onnx.numpy_helper.from_array(values * kept, weight.name))
    onnx.save(model, tmp_path / "model.onnx")
    options = ["--loss=cross-entropy", "--prune-zeros", "--compile-to=loss", "--emit=mlir"]
    run("bppsa-compile", tmp_path / "model.onnx", *options, "-o", tmp_path / "loss.mlir")
    evaluate = f"--bppsa-evaluate-plan=algorithms=linear output={tmp_path}"
    rest = ["-o", tmp_path / "out.mlir"]
    run("bppsa-opt", tmp_path / "loss.mlir", "--bppsa-infer-structure", f"{evaluate}/report.json", *rest)
    differentiate = "--bppsa-differentiate=wrt=all links=true"
    run("bppsa-opt", tmp_path / "loss.mlir", differentiate, "-o", tmp_path / "links.mlir")
    run("bppsa-opt", tmp_path / "links.mlir", f"{evaluate}/program.json", *rest)
    report, program = read_links(tmp_path / "report.json"), read_links(tmp_path / "program.json")
    assert len(report) == 22 and report == program
    # Pruning leaves 3 % of the 4 x 3 x 9 weights of the convolution.
    assert report[-1][3] < 0.04 * 4 * 3 * 9 * 32 * 32
