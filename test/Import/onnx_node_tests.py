"""Imports ONNX's own operator tests and compares the results with the expected ones.

The importer's table determines the counted operators. A test counts if its operands and results are
tensors of float, int64, int32 or bool, and its model has one node. These tests do not count:

* expanded tests, which compose the operator from other operators,
* Dropout tests that drop elements, because their expected results depend on NumPy's random numbers.

Exporters write settings as constants, but the tests pass them as inputs. Therefore, integers and
single numbers after the first operand become initializers. The first operand of ConstantOfShape,
Range, Loop and If also becomes an initializer, as do the scales and regions of Resize and Upsample.
The oldest supported opset is 7. A test with an older opset is imported as opset 7 if the operator
did not change in between. Results are compared with the expected results of the test, except in two
tests of Resize: downsample_scales_linear_align_corners and its cubic counterpart. Their expected
results contradict the specification of the operator, so ONNX Runtime provides the reference.

Run as a script, it writes docs/Reference/ONNXNodeTests.md.
"""

import collections
import concurrent.futures
import dataclasses
import pathlib
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import harness
import numpy as np
import onnx
from onnx import numpy_helper
from onnx_case import TYPES, Case
from test_forward import expected, interpret

PAGE = harness.ROOT / "docs" / "Reference" / "ONNXNodeTests.md"
LEAST_SHARE = 0.95
SIZES_FIRST = ("ConstantOfShape", "If", "Loop", "Range")
SETTINGS = ("Resize", "Upsample")

# If a size is rounded, the expected values align the corners of the unrounded size. ONNX Runtime
# aligns the corners of the result, as the specification says.
UNROUNDED = ("test_resize_downsample_scales_cubic_align_corners", "test_resize_downsample_scales_linear_align_corners")


@dataclasses.dataclass
class NodeTest:
    case: Case
    op: str
    wanted: list
    tolerance: float

    @property
    def name(self):
        return self.case.name


@dataclasses.dataclass
class Outcome:
    """The outcome of a test; `reason` is the refusal or the error of a wrong result."""

    name: str
    op: str
    status: str  # right, refused or wrong
    reason: str = ""


def supported_ops():
    """Returns the operators in the importer's table."""
    translate = harness.require_tool("bppsa-translate")
    page = harness.check_succeeded(harness.run(translate, "--list-onnx-support")).stdout
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    return {row.split("|")[1].strip() for row in rows} - {"op"}


def has_known_types(graph):
    return all(
        info.type.WhichOneof("value") == "tensor_type"
        and info.type.tensor_type.elem_type in TYPES.values()
        for info in [*graph.input, *graph.output]
    )


def drops_elements(node, values):
    """Returns whether a Dropout is in training mode and its ratio (default 0.5) is nonzero."""
    if node.op_type != "Dropout" or len(node.input) < 3 or not np.any(values[node.input[2]]):
        return False
    return not node.input[1] or float(values[node.input[1]]) != 0


def is_setting(op, position, value):
    if position == 0 and op not in SIZES_FIRST:
        return False
    return value.dtype.kind == "i" or value.size == 1 or op in SETTINGS


def raise_opset(model):
    """Raises the opset to 7 if the operator did not change in between."""
    (opset,) = model.opset_import
    schema = onnx.defs.get_schema(model.graph.node[0].op_type, 7 if opset.version < 7 else opset.version)
    if schema.since_version <= opset.version:
        opset.version = max(opset.version, 7)


def convert(test):
    """Returns the test with its settings as initializers, or None if it is not counted."""
    graph = test.model.graph
    if "_expanded" in test.name or len(graph.node) != 1 or graph.node[0].domain:
        return None
    if not has_known_types(graph):
        return None
    inputs, outputs = test.data_sets[0]
    values = dict(zip([i.name for i in graph.input], map(np.asarray, inputs), strict=True))
    (node,) = graph.node
    if drops_elements(node, values):
        return None
    model = onnx.ModelProto()
    model.CopyFrom(test.model)
    for position, info in enumerate(graph.input):
        if is_setting(node.op_type, position, values[info.name]):
            tensor = numpy_helper.from_array(values.pop(info.name), info.name)
            model.graph.initializer.append(tensor)
            model.graph.input.remove(info)
    raise_opset(model)
    case = Case(test.name, model, values)
    return NodeTest(case, node.op_type, list(map(np.asarray, outputs)), max(test.rtol, 2e-5))


def node_tests():
    """Returns the counted tests by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tests of other operators warn on purpose
        from onnx.backend.test.case.node import collect_testcases

        converted = list(map(convert, collect_testcases(None)))
    ops = supported_ops()
    return {test.name: test for test in converted if test and test.op in ops}


def find_reason(message):
    """Returns the error message without the names of the file and the node."""
    lines = message.splitlines()
    assert len(lines) == 1 and "error: " in lines[0], f"no single error line: {message}"
    text = lines[0].split("error: ", 1)[1]
    return text.split("): ", 1)[1] if text.startswith("node ") else text


def check(test):
    """Runs one test and returns its outcome."""
    translate = harness.require_tool("bppsa-translate")
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        source = directory / "model.onnx"
        source.write_bytes(test.case.model.SerializeToString())
        imported = harness.run(translate, "--import-onnx", source, "-o", directory / "model.mlir")
        if imported.returncode != 0:
            assert imported.returncode == 1, f"{test.name}: {imported.stderr}"
            return Outcome(test.name, test.op, "refused", find_reason(imported.stderr))
        found = interpret(test.case, directory)
    wanted = expected(test.case) if test.name in UNROUNDED else test.wanted
    try:
        for left, right in zip(found, wanted, strict=True):
            assert left.shape == right.shape, f"shape {left.shape} instead of {right.shape}"
            np.testing.assert_allclose(left, right.astype(left.dtype), rtol=test.tolerance, atol=2e-5)
    except AssertionError as error:
        return Outcome(test.name, test.op, "wrong", " ".join(str(error).split()))
    return Outcome(test.name, test.op, "right")


def count(tests):
    """Returns the outcomes of all `tests` by operator."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(check, tests.values()))
    by_op = collections.defaultdict(list)
    for outcome in sorted(outcomes, key=lambda outcome: (outcome.op, outcome.name)):
        by_op[outcome.op].append(outcome)
    return dict(by_op)


def share(outcomes):
    return sum(outcome.status == "right" for outcome in outcomes) / len(outcomes)


def make_page(by_op):
    every = [outcome for outcomes in by_op.values() for outcome in outcomes]
    refused = [outcome for outcome in every if outcome.status != "right"]
    lines = [
        "# ONNX's node tests",
        "",
        "This page shows which of ONNX's operator tests pass, for users who want to know how completely the",
        "importer implements an operator. `test/Import/onnx_node_tests.py` generates it, and a test checks",
        f"that it is up to date. Of the {len(every)} counted tests of ONNX {onnx.__version__}, "
        f"{len(every) - len(refused)} are accepted and give the",
        "expected results. Tests of operators outside [the table](ONNXSupport.md) are not counted.",
        "",
        *__doc__.strip().split("\n\n")[1].splitlines(),
        "",
        *__doc__.strip().split("\n\n")[2].splitlines(),
        "",
        *__doc__.strip().split("\n\n")[3].splitlines(),
        "",
        "The importer refuses these tests:",
        "",
        "| op | test | reason |",
        "|---|---|---|",
        *(f"| {outcome.op} | {outcome.name.removeprefix('test_')} | {outcome.reason} |" for outcome in refused),
        "",
        "| op | accepted and correct |",
        "|---|---|",
        *(f"| {op} | {sum(o.status == 'right' for o in outcomes)} of {len(outcomes)} |" for op, outcomes in by_op.items()),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(make_page(count(node_tests())))
