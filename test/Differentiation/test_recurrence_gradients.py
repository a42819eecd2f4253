"""Gradients of time loops for every type of cell and every use of the states."""

import dataclasses
import re

import numpy as np
import pytest

from gradients import Module, check_gradients

I, H = 3, 4
V, X, M, W = f"vector<{H}xf32>", f"vector<{I}xf32>", f"vector<{H}x{H}xf32>", f"vector<{H}x{I}xf32>"


@dataclasses.dataclass
class Cell:
    """Shapes of states and captures, and the lines of the body.

    %x is the input, %s0, %s1 ... are the states and %c0, %c1, ... the captures.
    """

    states: int
    captures: tuple
    body: str
    yielded: str


def product(name, matrix, vector, addend=None, kind=(M, V), transposed=""):
    plus, plus_type = (f" plus {addend}", f" plus {V}") if addend else ("", "")
    return (
        f"{name} = bppsa.matvec {transposed}{matrix}, {vector}{plus} : {kind[0]}, {kind[1]}{plus_type} -> {V}\n"
    )


RNN = product("%0", "%c0", "%x", "%c2", (W, X)) + product("%1", "%c1", "%s0", "%0")
GATES = "".join(
    product(f"%w{i}", f"%c{i}", "%x", f"%c{6 + i}", (W, X)) for i in range(3)
)
GRU_END = f"""
%one = arith.constant dense<1.0> : {V}
%n = math.tanh %pn : {V}
%k = arith.subf %one, %z : {V}
%kn = arith.mulf %k, %n : {V}
%zh = arith.mulf %z, %s0 : {V}
%h = arith.addf %kn, %zh : {V}
"""
GRU_GATES = (
    GATES
    + product("%pz", "%c3", "%s0", "%w0")
    + product("%pr", "%c4", "%s0", "%w1")
    + f"%z = bppsa.sigmoid %pz : {V}\n%r = bppsa.sigmoid %pr : {V}\n"
)
WEIGHTS3 = ((H, I),) * 3 + ((H, H),) * 3 + ((H,),) * 3
LSTM_GATES = "".join(
    product(f"%w{i}", f"%c{i}", "%x", f"%c{8 + i}", (W, X))
    + product(f"%p{i}", f"%c{4 + i}", "%s0", f"%w{i}")
    for i in range(4)
)

CELLS = {
    "tanh": Cell(1, ((H, I), (H, H), (H,)), RNN + f"%2 = math.tanh %1 : {V}", "%2"),
    "relu": Cell(
        1,
        ((H, I), (H, H), (H,)),
        RNN + f"%zero = arith.constant dense<0.0> : {V}\n%2 = arith.maximumf %1, %zero : {V}",
        "%2",
    ),
    "gru-reset-after": Cell(
        1,
        WEIGHTS3 + ((H,),),
        GRU_GATES
        + product("%q", "%c5", "%s0", "%c9")
        + f"%rq = arith.mulf %r, %q : {V}\n%pn = arith.addf %w2, %rq : {V}\n"
        + GRU_END,
        "%h",
    ),
    "gru-reset-before": Cell(
        1,
        WEIGHTS3,
        GRU_GATES
        + f"%rh = arith.mulf %r, %s0 : {V}\n"
        + product("%pn", "%c5", "%rh", "%w2")
        + GRU_END,
        "%h",
    ),
    "lstm": Cell(
        2,
        ((H, I),) * 4 + ((H, H),) * 4 + ((H,),) * 4,
        LSTM_GATES
        + f"""
%i = bppsa.sigmoid %p0 : {V}
%o = bppsa.sigmoid %p1 : {V}
%f = bppsa.sigmoid %p2 : {V}
%g = math.tanh %p3 : {V}
%fc = arith.mulf %f, %s1 : {V}
%ig = arith.mulf %i, %g : {V}
%c = arith.addf %fc, %ig : {V}
%tc = math.tanh %c : {V}
%h = arith.mulf %o, %tc : {V}
""",
        "%h, %c",
    ),
    # Covers a captured vector as a factor, a transposed product, a product of a product whose
    # cotangent no state needs, a matrix used twice, and a product with a captured vector.
    "custom": Cell(
        1,
        ((H, I), (H, H), (H,)),
        product("%a", "%c0", "%x", None, (W, X))
        + product("%b", "%c1", "%a", None, transposed="transposed ")
        + f"%bs = math.tanh %b : {V}\n"
        + product("%d", "%c1", "%s0", "%bs", transposed="transposed ")
        + product("%e", "%c1", "%c2")
        + f"""%f = arith.mulf %d, %c2 : {V}
%g = arith.addf %f, %e : {V}
%h = math.tanh %g : {V}
""",
        "%h",
    ),
}


def names(prefix, count):
    return ", ".join(f"%{prefix}{i}" for i in range(count))


def repeat(kind, count):
    return ", ".join([kind] * count)


def recurrence(cell, reverse):
    """Returns a function with result RESULT; LOOK computes it from the trajectories %t0 and %t1."""
    captures = ["tensor<" + "x".join(map(str, shape)) + "xf32>" for shape in cell.captures]
    arguments = [f'%seq: tensor<?x?x{I}xf32> {{bppsa.input = "x"}}']
    arguments += [
        f'%init{i}: tensor<?x{H}xf32> {{bppsa.input = "s{i}"}}' for i in range(cell.states)
    ]
    arguments += [
        f'%cap{i}: {kind} {{bppsa.parameter = "c{i}"}}' for i, kind in enumerate(captures)
    ]
    body = [f"%x: {X}"] + [f"%s{i}: {V}" for i in range(cell.states)]
    body += [f"%c{i}: {kind.replace('tensor', 'vector')}" for i, kind in enumerate(captures)]
    states = cell.states
    return f"""
func.func @forward({", ".join(arguments)}) -> (RESULT {{bppsa.output = "y"}}) {{
  %zero_index = arith.constant 0 : index
  %one_index = arith.constant 1 : index
  %T = tensor.dim %seq, %zero_index : tensor<?x?x{I}xf32>
  %B = tensor.dim %seq, %one_index : tensor<?x?x{I}xf32>
  {names("t", states)} = bppsa.recurrence {"reverse" if reverse else ""}
      sequences(%seq : tensor<?x?x{I}xf32>)
      initial({names("init", states)} : {repeat(f"tensor<?x{H}xf32>", states)})
      captures({names("cap", len(captures))} : {", ".join(captures)})
      -> ({repeat(f"tensor<?x?x{H}xf32>", states)}) {{
  ^bb0({", ".join(body)}):
    {cell.body}
    bppsa.yield {cell.yielded} : {repeat(V, states)}
  }}
  LOOK
}}
"""


SLOTS = f"tensor<?x?x{H}xf32>"


def slots(name, source, offset, size, kind=SLOTS):
    return (
        f"{name} = tensor.extract_slice {source}[{offset}, 0, 0] [{size}, %B, {H}] [1, 1, 1]"
        f" : {SLOTS} to {kind}\n"
    )


def sum_of(name, terms, shape):
    """Returns lines that add two tensors [B, H]; the second one is scaled by three."""
    kind = f"tensor<?x{H}xf32>"
    identity = "affine_map<(a, b) -> (a, b)>"
    return f"""
  %empty_{name} = tensor.empty(%B) : {kind}
  %{name} = linalg.generic {{indexing_maps = [{identity}, {identity}, {identity}],
      iterator_types = ["parallel", "parallel"]}}
      ins({terms[0]}, {terms[1]} : {kind}, {kind}) outs(%empty_{name} : {kind}) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %three = arith.constant 3.0 : f32
      %p = arith.mulf %three, %b : f32
      %q = arith.addf %a, %p : f32
      linalg.yield %q : f32
  }} -> {kind}
"""


ONE = f"tensor<1x?x{H}xf32>"
SLOT = f"tensor<?x{H}xf32>"
# Result type, lines that compute %y from the trajectories %t0 (and %t1), and number of time steps
# in the result. FINAL and INITIAL are replaced by slot numbers.
LOOKS = {
    "last": (SLOT, slots("%y", "%t0", "FINAL", 1, SLOT), None),
    "every": (SLOTS, slots("%y", "%t0", "FIRST", "%T"), 0),
    "all-slots": (SLOTS, slots("%y", "%t0", 0, "%T1"), 1),
    "middle": (ONE, slots("%y", "%t0", "%half", 1, ONE), "one"),
    "initial-and-last": (
        SLOT,
        slots("%i", "%t0", "INITIAL", 1, SLOT)
        + slots("%f", "%t0", "FINAL", 1, SLOT)
        + sum_of("y", ("%i", "%f"), None),
        None,
    ),
    "last-of-every": (
        SLOT,
        slots("%e", "%t0", "FIRST", "%T") + slots("%y", "%e", "LASTOFEVERY", 1, SLOT),
        None,
    ),
    "second-state": (
        SLOT,
        slots("%h", "%t0", "FINAL", 1, SLOT)
        + slots("%s", "%t1", "FINAL", 1, SLOT)
        + sum_of("y", ("%h", "%s"), None),
        None,
    ),
}


def make_source(cell, look, reverse):
    kind, lines, _ = LOOKS[look]
    names = {
        "LASTOFEVERY": "%zero_index" if reverse else "%Tm1",
        "FINAL": "0" if reverse else "%T",
        "INITIAL": "%T" if reverse else "0",
        "FIRST": "0" if reverse else "1",
    }
    prelude = """%T1 = arith.addi %T, %one_index : index
  %Tm1 = arith.subi %T, %one_index : index
  %two_index = arith.constant 2 : index
  %half = arith.divui %T1, %two_index : index
"""
    for name, value in names.items():
        lines = lines.replace(name, value)
    source = recurrence(cell, reverse).replace("RESULT", kind)
    return source.replace("LOOK", prelude + lines + f"  return %y : {kind}")


def check(directory, cell, look, reverse=False, steps=5, samples=2):
    module = Module(directory, make_source(cell, look, reverse), ["--bppsa-add-loss=loss=mse"])
    rng = np.random.default_rng(3)
    extra = LOOKS[look][2]
    times = {None: (), 0: (steps,), 1: (steps + 1,), "one": (1,)}[extra]
    arrays = [rng.standard_normal((steps, samples, I))]
    arrays += [rng.standard_normal((samples, H)) for _ in range(cell.states)]
    arrays += [rng.standard_normal(shape) for shape in cell.captures]
    arrays += [rng.standard_normal((*times, samples, H))]
    check_gradients(module, arrays)
    return module


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("look", ["last", "every"])
@pytest.mark.parametrize("cell", CELLS)
def test_cells(tmp_path, cell, look, reverse):
    check(tmp_path, CELLS[cell], look, reverse)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("look", sorted(LOOKS))
def test_state_uses(tmp_path, look, reverse):
    check(tmp_path, CELLS["lstm"], look, reverse)


@pytest.mark.parametrize("steps", [1, 2])
def test_few_steps(tmp_path, steps):
    check(tmp_path, CELLS["gru-reset-before"], "every", steps=steps, samples=1)


@pytest.mark.parametrize("look", ["last", "last-of-every"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
def test_last_step_allocates_no_zeros(tmp_path, look, reverse):
    module = check(tmp_path, CELLS["tanh"], look, reverse)
    gradient = module.text[module.text.index("@grad") :]
    assert "" in gradient
    assert not [line for line in gradient.splitlines() if "linalg.fill" in line and SLOTS in line]


@pytest.mark.parametrize("cell", ["gru-reset-before", "custom"])
def test_single_gradient_matches_full_gradient(tmp_path, cell):
    source = make_source(CELLS[cell], "every", False)
    rng = np.random.default_rng(4)
    steps, samples, captures = 4, 2, CELLS[cell].captures
    arrays = [rng.standard_normal((steps, samples, I)), rng.standard_normal((samples, H))]
    arrays += [rng.standard_normal(shape) for shape in captures]
    arrays.append(rng.standard_normal((steps, samples, H)))
    passes = ["--bppsa-add-loss=loss=mse"]
    _, *expected = Module(tmp_path, source, passes).call("grad", arrays)
    source = re.sub(r' {bppsa.input = "\w+"}', "", source)
    for i in range(len(captures)):
        frozen = source
        for k in range(len(captures)):
            if k != i:
                frozen = frozen.replace(f'"c{k}"', f'"c{k}", bppsa.frozen')
        _, found = Module(tmp_path, frozen, passes).call("grad", arrays)
        np.testing.assert_allclose(found, expected[2 + i], rtol=1e-12, atol=1e-14)
