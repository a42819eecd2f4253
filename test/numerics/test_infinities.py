"""Gradients of models with infinite intermediate values, against finite differences in float64.

The references are NumPy functions. Their differences are exact at points to which an infinite term
does not contribute, so no reference differentiates through an infinity.
"""

import itertools

import numpy as np
import pytest
from harness import COMPILER, check_succeeded, compile_model, require_tool, run
from loop_models import body, node, scan
from onnx import TensorProto, helper, numpy_helper
from test_interpreter import signature

INF = np.inf
RNG = np.random.default_rng(7)
ROWS = np.array([[0.3, -1.2, 0.8, 0.1], [1.1, 0.4, -0.6, -0.2], [0.7, 0.2, 0.5, -1.4]], np.float32)
MASK = np.array([[0, -INF, 0, -INF], [-INF, -INF, 0, -INF], [0, 0, 0, 0]], np.float32)
FACTORS = RNG.normal(size=(3, 4)).astype(np.float32)
SIGNS = np.array([[-INF, 0.5, INF, -1], [2, INF, 0.1, -INF], [0, 1, -INF, -2]], np.float32)


def logsumexp(x):
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x).sum(-1))


def softmax(x):
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


# Name: nodes that compute y from the trained x [3, 4] and constants; the same function in NumPy.
TERMS = {
    "softmax": (["Add x mask s", "Softmax s p", "Mul p c y"], lambda x: softmax(x + MASK) * FACTORS),
    "log-softmax": (
        ["Add x mask s", "LogSoftmax s l", "Where open l zero y"],
        lambda x: np.where(MASK == 0, x - logsumexp(x + MASK)[:, None], 0),
    ),
    "entropy": (
        ["Add x mask s", "Softmax s p", "LogSoftmax s l", "Mul p l q", "Where open q zero y"],
        lambda x: np.where(
            MASK == 0, softmax(x + MASK) * (x - logsumexp(x + MASK)[:, None]), 0
        ),
    ),
    "log-sum-exp": (
        ["Add x mask s", "ReduceLogSumExp s y axes=1"],
        lambda x: logsumexp(x + MASK),
    ),
    "log-sum-exp-of-where": (
        ["Where open x lowest s", "ReduceLogSumExp s y axes=1"],
        lambda x: logsumexp(x + MASK),
    ),
    "log-sum-exp-by-hand": (
        ["Add x mask s", "ReduceMax s m axes=1", "Sub s m d", "Exp d e", "ReduceSum e axis1 t", "Log t l", "Add l m y"],
        lambda x: logsumexp(x + MASK),
    ),
    "log-sum-exp-unshifted": (
        ["Add x mask s", "Exp s e", "ReduceSum e axis1 t", "Log t y"],
        lambda x: logsumexp(x + MASK),
    ),
    "softmax-by-hand": (
        ["Add x mask s", "Exp s e", "ReduceSum e axis1 t", "Div e t p", "Mul p c y"],
        lambda x: softmax(x + MASK) * FACTORS,
    ),
    "unreachable-rows": (
        ["Add x shut s", "ReduceLogSumExp s l axes=1", "Exp l y"],
        lambda x: np.exp(logsumexp(x[:2])),
    ),
    "unreachable-rows-unshifted": (
        ["Add x shut s", "Exp s e", "ReduceSum e axis1 t", "Log t l", "Exp l y"],
        lambda x: np.exp(logsumexp(x[:2])),
    ),
    "maximum-along-an-axis": (
        ["Add x mask s", "ReduceMax s y axes=1"],
        lambda x: (x + MASK).max(-1),
    ),
    "largest-by-index": (
        ["Add x mask s", "ArgMax s i axis=1", "GatherElements s i y axis=1"],
        lambda x: (x + MASK).max(-1),
    ),
    "max-of-two": (
        ["Add x mask s", "Max s floor y"],
        lambda x: np.maximum(x + MASK, -0.5),
    ),
    "log-add-exp": (
        ["Add x mask s", "Max s c m", "Sub s c d", "Abs d a", "Neg a b", "Exp b e", "Add one e f", "Log f g", "Add m g y"],
        lambda x: np.logaddexp(x + MASK, FACTORS.astype(float)),
    ),
    "saturated": (
        ["Add x signs s", "Sigmoid s p", "Tanh s t", "Neg s n", "Min s one u", "Softplus u v",
         "Where bounded v zero w", "Sum p t w y"],
        lambda x: 1 / (1 + np.exp(-(x + SIGNS))) + np.tanh(x + SIGNS)
        + np.where(np.isfinite(SIGNS), np.log1p(np.exp(np.minimum(x + SIGNS, 1))), 0),
    ),
    "softplus-of-lowest": (
        ["Add x mask s", "Softplus s y"],
        lambda x: np.log1p(np.exp(x + MASK)),
    ),
    "temperature": (
        ["Add x mask s", "Mul s positive u", "Softmax u p", "Mul p c y"],
        lambda x: softmax((x + MASK) * np.abs(FACTORS)) * FACTORS,
    ),
    "written-out-sigmoid": (
        ["Mul x huge h", "Neg h n", "Exp n e", "Add one e d", "Div one d y"],
        lambda x: np.where(x > 0, 1.0, 0.0),
    ),
    "written-out-elu": (
        ["Mul x huge h", "Exp h e", "Sub e one f", "Greater h zero k", "Where k x f y"],
        lambda x: np.where(x > 0, x, -1),
    ),
    "safe-division": (
        ["Div x gaps q", "Mul q x r", "Greater gaps zero k", "Where k r zero y"],
        lambda x: np.where(FACTORS > 0, x * x / np.where(FACTORS > 0, FACTORS, 1), 0),
    ),
    "safe-root": (
        ["Relu x r", "Sqrt r q", "Pow r half u", "Add q u v", "Greater x zero k", "Where k v zero y"],
        lambda x: 2 * np.sqrt(np.maximum(x, 0)),
    ),
    "safe-logarithm": (
        ["Relu x r", "Log r l", "Mul l x q", "Greater x zero k", "Where k q zero y"],
        lambda x: np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0),
    ),
}
CONSTANTS = dict(
    mask=MASK, open=MASK == 0, c=FACTORS, zero=np.float32(0), one=np.float32(1), half=np.float32(0.5),
    lowest=np.float32(-INF), floor=np.full((3, 4), -0.5, np.float32), signs=SIGNS, bounded=np.isfinite(SIGNS),
    shut=np.array([[0], [0], [-INF]], np.float32), axis1=np.array([1]), positive=np.abs(FACTORS),
    huge=np.float32(500), gaps=np.maximum(FACTORS, 0),
)  # fmt: skip


def make_nodes(term, lines):
    """Returns the nodes of a term, with value names prefixed by the name of the term."""
    nodes = []
    for line in lines:
        words = line.split()
        attributes = {k: int(v) for k, v in (w.split("=") for w in words if "=" in w)}
        attributes = {k: [v] if k == "axes" else v for k, v in attributes.items()}
        names = [w if w in CONSTANTS else f"{term}/{w}" for w in words[1:] if "=" not in w]
        nodes.append(helper.make_node(words[0], names[:-1], names[-1:], **attributes))
    nodes.append(helper.make_node("ReduceSum", [f"{term}/y"], [f"{term}/loss"], keepdims=0))
    return nodes


def make_model(nodes, losses, trained, constants, inputs, opset=17):
    total = [helper.make_node("Sum", losses, ["loss"])]
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in (trained | constants).items()]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs]
    loss = helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])
    graph = helper.make_graph(nodes + total, "infinities", infos, [loss], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def differences(function, x, step=1e-6):
    """Returns the gradient of the sum of a function by central differences in float64."""
    x = np.asarray(x, np.float64)
    gradient = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[i] = step
        gradient[i] = (np.sum(function(x + shift)) - np.sum(function(x - shift))) / (2 * step)
    return gradient


def terms_model():
    nodes = [made for term, (lines, _) in TERMS.items() for made in make_nodes(term, lines)]
    nodes.append(helper.make_node("ReduceSum", ["x"], ["x/loss"], keepdims=0))
    losses = [f"{term}/loss" for term in TERMS] + ["x/loss"]
    return make_model(nodes, losses, {f"{term}/x": ROWS for term in TERMS}, CONSTANTS, [("x", ["N"])])


FREEZE = f"--freeze=^({'|'.join(CONSTANTS)})$"
X = np.zeros(2, np.float32)


def check_terms(found, **bounds):
    for term, (_, function) in TERMS.items():
        with np.errstate(all="ignore"):
            wanted = differences(function, ROWS)
        np.testing.assert_allclose(found[f"{term}/x"], wanted, err_msg=term, **bounds)


def test_softmax_and_log_terms():
    check_terms(compile_model(terms_model(), "--loss=none", FREEZE).grad({"x": X}), rtol=2e-5, atol=2e-6)


def test_softmax_and_log_terms_in_float64(tmp_path):
    source, ir, given, found = (tmp_path / name for name in ("m.onnx", "m.mlir", "in.npz", "out.npz"))
    model = terms_model()
    source.write_bytes(model.SerializeToString())
    check_succeeded(run(COMPILER, source, "--emit=mlir", "--loss=none", FREEZE, "-o", ir))
    roles, results = signature(ir.read_text(), "grad_sequential")
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | {"x": X}
    np.savez(given, **{f"arg{i}": values[name] for i, (_, name) in enumerate(roles)})
    tool = require_tool("bppsa-interpret")
    check_succeeded(run(tool, ir, "--function=grad_sequential", "--inputs", given, "--outputs", found))
    with np.load(found) as loaded:
        arrays = {name: loaded[f"res{i}"] for i, (_, name) in enumerate(results)}
    check_terms(arrays, rtol=1e-6, atol=1e-7)


# --- attention ------------------------------------------------------------------------------------

QUERIES, KEYS = 3, 4
HEADS = dict(q=(1, 1, QUERIES, 2), k=(1, 1, KEYS, 2), v=(1, 1, KEYS, 2))


def attend(q, k, v, mask):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(2) + mask)) @ v


ATTENTION = {
    "by-op": [node("Attention", "q k v mask", "y")],
    "by-op-and-bools": [node("Attention", "q k v open", "y")],
    "written-out": [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", "q kt", "s"),
        node("Div", "s root", "ss"), node("Add", "ss mask", "sm"), node("Softmax", "sm", "p", axis=-1),
        node("MatMul", "p v", "y"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", ATTENTION)
def test_attention(kind):
    """The last keys are padding. The Attention op returns zeros for a query that sees no key."""
    mask = np.array([[0, 0, -INF, -INF], [0, -INF, -INF, -INF], [-INF] * 4], np.float32)
    if kind == "written-out":
        mask = mask[[0, 1, 1]]
    arrays = {n: np.random.default_rng(i).normal(size=s).astype(np.float32) for i, (n, s) in enumerate(HEADS.items())}
    weights = np.random.default_rng(9).normal(size=HEADS["q"]).astype(np.float32)
    nodes = [*ATTENTION[kind], node("Mul", "y weights", "yw"), node("ReduceSum", "yw", "sum", keepdims=0),
             node("ReduceSum", "x", "rest", keepdims=0)]  # fmt: skip
    constants = dict(weights=weights, mask=mask, open=mask == 0, root=np.float32(np.sqrt(2)))
    used = {name for n in nodes for name in n.input}
    constants = {name: array for name, array in constants.items() if name in used}
    model = make_model(nodes, ["sum", "rest"], arrays, constants, [("x", ["N"])], opset=23)
    found = compile_model(model, "--loss=none", "--freeze=^(weights|root)$").grad({"x": X})
    for name in HEADS:
        wanted = differences(lambda v, name=name: attend(**(arrays | {name: v}), mask=mask) * weights, arrays[name])
        np.testing.assert_allclose(found[name], wanted, rtol=2e-5, atol=2e-6, err_msg=name)


# --- loops ----------------------------------------------------------------------------------------

STEPS, TAGS = 4, 4
LENGTHS = (4, 2)
# Tag 3 may only follow tag 1. All paths begin with tag 0.
ALLOWED = np.array([[0, 0, -INF, -INF], [-INF, 0, 0, 0], [-INF, 0, 0, -INF], [0, 0, 0, -INF]], np.float32)
FIRST = np.array([0, -INF, -INF, -INF], np.float32)


def log_sum_exp(source, result, style):
    """Returns nodes that reduce axis 1, as one node or decomposed."""
    if style == "node":
        return [helper.make_node("ReduceLogSumExp", [source], [result], axes=[1], keepdims=0)]
    if style == "unshifted":
        return [node("Exp", source, "x"), node("ReduceSum", "x one", "t", keepdims=0), node("Log", "t", result)]
    # Like PyTorch, do not shift by an infinite maximum.
    return [
        node("ReduceMax", source, "top", axes=[1]), node("Abs", "top", "size"), node("Less", "size limit", "finite"),
        node("Where", "finite top none", "shift"), node("Sub", f"{source} shift", "d"), node("Exp", "d", "x"),
        node("ReduceSum", "x one", "t", keepdims=0), node("Log", "t", "lt"), node("Squeeze", "shift one", "sh"),
        node("Add", "lt sh", result),
    ]  # fmt: skip


def crf(style):
    """The log-sum over all allowed tag sequences, by the forward algorithm in a Scan."""
    nodes = [node("Unsqueeze", "alpha two", "a"), node("Unsqueeze", "e one", "e1"), node("Add", "a tr", "s0"),
             node("Add", "s0 e1", "s"), *log_sum_exp("s", "l", style), node("Greater", "m half", "k"),
             node("Unsqueeze", "k one", "k1"), node("Where", "k1 l alpha", "alpha_out")]  # fmt: skip
    loop = scan(body(nodes, "alpha e m", "alpha_out"), "alpha0 rest mask", "alphaT", 2)
    outer = [
        node("Add", "trans allowed", "tr"), node("Add", "start first", "st"), node("MatMul", "x V", "emit"),
        node("Slice", "emit zero one zero", "e0"), node("Squeeze", "e0 zero", "e0s"), node("Add", "e0s st", "alpha0"),
        node("Slice", "emit one many zero", "rest"), loop, *log_sum_exp("alphaT", "logZ", "node"),
        node("ReduceMean", "logZ", "mean", keepdims=0),
    ]  # fmt: skip
    trained = dict(trans=ROWS.repeat(2, 0)[:4], start=FACTORS[0], V=FACTORS[1:])
    constants = dict(
        allowed=ALLOWED, first=FIRST, zero=np.array([0]), one=np.array([1]), two=np.array([2]),
        many=np.array([STEPS]), half=np.float32(0.5), limit=np.float32(INF), none=np.float32(0),
    )  # fmt: skip
    inputs = [("x", ["T", "N", 2]), ("mask", ["R", "N"])]
    return make_model(outer, ["mean"], trained, constants, inputs), trained


def sum_over_paths(x, trained):
    emissions = x @ trained["V"]
    values = []
    for sample, length in enumerate(LENGTHS):
        paths = [
            path
            for path in itertools.product(range(TAGS), repeat=length)
            if path[0] == 0 and all(np.isfinite(ALLOWED[pair]) for pair in itertools.pairwise(path))
        ]
        scores = [
            trained["start"][path[0]]
            + sum(emissions[t, sample, tag] for t, tag in enumerate(path))
            + sum(trained["trans"][pair] for pair in itertools.pairwise(path))
            for path in paths
        ]
        values.append(logsumexp(np.array(scores)))
    return np.mean(values)


@pytest.mark.parametrize("style", ["node", "shifted", "unshifted"])
def test_crf_with_constrained_paths(style):
    model, trained = crf(style)
    program = compile_model(model, "--loss=none", "--freeze=^(half|limit|none)$")
    x = np.random.default_rng(3).normal(size=(STEPS, 2, 2)).astype(np.float32)
    mask = (np.arange(1, STEPS)[:, None] < LENGTHS).astype(np.float32)
    found = program.grad({"x": x, "mask": mask})
    for name, values in trained.items():
        wanted = differences(
            lambda v, name=name: sum_over_paths(x.astype(float), trained | {name: v}), values
        )
        np.testing.assert_allclose(found[name], wanted, rtol=5e-5, atol=2e-6, err_msg=name)


def test_elementwise_loop():
    """A state starts at -inf, and one of its entries never becomes finite."""
    nodes = [node("Add", "s w", "sw"), node("Exp", "sw", "es"), node("Add", "xt shut", "xs"),
             node("Exp", "xs", "ex"), node("Add", "es ex", "t"), node("Log", "t", "so"),
             node("Max", "m xs", "mo")]  # fmt: skip
    loop = scan(body(nodes, "s m xt", "so mo"), "s0 s0 x", "sT mT", 1)
    outer = [loop, node("Exp", "sT", "p"), helper.make_node("ReduceSum", ["p"], ["sum"], keepdims=0),
             node("Exp", "mT", "q"), helper.make_node("ReduceSum", ["q"], ["top"], keepdims=0)]  # fmt: skip
    shut = np.array([0, -INF, 0], np.float32)
    constants = dict(s0=np.full((2, 3), -INF, np.float32), shut=shut)
    weights = np.array([-0.3, 0.2, 0.1], np.float32)
    model = make_model(outer, ["sum", "top"], dict(w=weights), constants, [("x", ["T", 2, 3])])
    program = compile_model(model, "--loss=none")
    x = np.random.default_rng(5).normal(size=(STEPS, 2, 3)).astype(np.float32)

    def reference(x, w):
        terms = [np.exp(x[t] + shut + (STEPS - 1 - t) * w) for t in range(STEPS)]
        return np.sum(terms) + np.sum(np.exp((x + shut).max(0)))

    for backward in ("sequential", "scan"):
        found = program.grad({"x": x}, f"--backward={backward}")
        wanted_w = differences(lambda w: reference(x.astype(float), w), weights)
        wanted_x = differences(lambda v: reference(v, weights.astype(float)), x)
        np.testing.assert_allclose(found["w"], wanted_w, rtol=2e-5, atol=2e-6, err_msg=backward)
        np.testing.assert_allclose(found["x"], wanted_x, rtol=2e-5, atol=2e-6, err_msg=backward)
