"""Emulated GPU programs: gradients within the numerics bound, identical results in all schedules.

Every plan is tested on every model with its sizes of H, T and B, including reversed and
bidirectional layers, trained initial states, and losses on the last step and on every step.
Products of Jacobians cost H^3, so the largest T and H are combined only for plans without such
products.

The emulator fails on divergent barriers, out-of-bounds accesses, and shared memory that is read
before it is written or while another thread writes it.
"""

import json

import harness
import images
import models
import numpy as np
import pytest
import references

LOSS = "cross-entropy"
TREE_PLANS = ("blelloch", "hybrid:1", "hybrid:2", "chunked:1", "chunked:7", "chunked")
PLANS = ("sequential", "linear", *TREE_PLANS)
SEEDS = range(1, 21)

MODELS = {
    "lstm-h1-steps": models.Spec("LSTM", hidden=1, head="steps"),
    "gru-h4-bidirectional-steps": models.Spec(
        "GRU", hidden=4, direction="bidirectional", initial="parameter", head="steps"
    ),
    "gru-linear-before-reset-h20-reverse": models.Spec(
        "GRU", hidden=20, linear_before_reset=1, direction="reverse"
    ),
    "lstm-h9": models.Spec("LSTM", hidden=9, initial="parameter"),
    "lstm-h33": models.Spec("LSTM", hidden=33, initial="parameter"),
    "rnn-h64-steps": models.Spec("RNN", hidden=64, head="steps"),
    "lstm-h5-ragged-peepholes": models.Spec(
        "LSTM", hidden=5, direction="bidirectional", head="steps", lengths=True, peepholes=True,
        clip=0.6, activations=("HardSigmoid", "Softsign", "Elu"),
    ),
}  # fmt: skip

# (T, B) pairs for all plans, and for plans that form no products of Jacobians.
SIZES = {
    "lstm-h1-steps": [(2, 3), (257, 1)],
    "gru-h4-bidirectional-steps": [(64, 3)],
    "gru-linear-before-reset-h20-reverse": [(7, 5)],
    "lstm-h9": [(40, 3)],
    "lstm-h33": [(7, 3)],
    "rnn-h64-steps": [(1, 3), (7, 1)],
    "lstm-h5-ragged-peepholes": [(9, 5)],
}
CHEAP_SIZES = {"rnn-h64-steps": [(257, 1)]}


def compile_emulated(model, plan):
    """Returns the emulated program with a single backward pass."""
    backward = ["--backward=scan", f"--scan={plan}"]
    if plan == "sequential":
        backward = ["--backward=sequential"]
    return harness.compile_model(model, f"--loss={LOSS}", "--target=cuda", "--emulate", *backward)


def compile_for_cpu(model, plan):
    return harness.compile_model(model, f"--loss={LOSS}", "--backward=scan", f"--scan={plan}")


def check_bound(program, sizes, context=""):
    """Checks the gradients for random arrays; returns the arrays and the program's results."""
    arrays = models.data(program.model, sizes, LOSS)
    exact, single = references.gradients(program.model, arrays, LOSS)
    found = program.grad(arrays)
    harness.check_gradients(found, exact, single, context)
    return arrays, found


def check_same_bits(found, expected, context):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].tobytes() == array.tobytes(), f"{context}: {name}"


def check_schedules(program, arrays, expected):
    for seed in SEEDS:
        found = program.grad(arrays, f"--emulate-seed={seed}")
        check_same_bits(found, expected, f"--emulate-seed={seed}")


# --- gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", MODELS)
def test_gradients(name, plan):
    program = compile_emulated(models.build(MODELS[name]), plan)
    sizes = SIZES[name] + ([] if plan in TREE_PLANS else CHEAP_SIZES.get(name, []))
    for time, batch in sizes:
        check_bound(program, {"T": time, "B": batch}, f"T={time} B={batch}")


@pytest.mark.parametrize("plan,time,batch", [("sequential", 600, 1), ("chunked:1", 2, 2100)])
def test_partial_sums(plan, time, batch):
    """600 steps exceed the 512 that registers can sum; 4200 chunks exceed 4096 blocks."""
    program = compile_emulated(models.build(models.Spec("RNN", hidden=1)), plan)
    check_bound(program, {"T": time, "B": batch})


@pytest.mark.parametrize("first,width", [(1, 44), (4, 44), (2, 42)])
@pytest.mark.parametrize("cell,hidden", [("RNN", 32), ("GRU", 20), ("LSTM", 64)])
def test_slices_of_features(cell, hidden, first, width):
    """Vectors may or may not be 16-byte aligned, in hoisted projections and inside a step."""
    spec = models.Spec(cell, hidden=hidden, features=40, head="steps")
    program = compile_emulated(models.slice_features(models.build(spec), first, width), "chunked:3")
    check_bound(program, {"T": 7, "B": 3})


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(models.Spec("LSTM", hidden=30, features=10), id="tiles-with-two-gates"),
        pytest.param(models.Spec("GRU", hidden=33, features=41, bias=False), id="odd-vectors"),
        pytest.param(
            models.Spec("GRU", hidden=36, features=24, linear_before_reset=1, head="steps"),
            id="vectors-of-16-bytes",
        ),
        pytest.param(models.Spec("GRU", hidden=40, features=7), id="row-by-row"),
    ],
)
@pytest.mark.parametrize("first", [0, 3, 4])
def test_input_projections_of_all_gates(spec, first):
    """Input projections of all gates are hoisted, with fewer or more rows than a tile."""
    model = models.build(spec)
    if first:
        model = models.slice_features(model, first, spec.features + first + 4)
    program = compile_emulated(model, "sequential")
    for time, batch in [(5, 3), (23, 3)]:
        check_bound(program, {"T": time, "B": batch})


def test_weight_gradient_of_several_slabs():
    """A result of 256 x 600 elements has slabs of 2048 rows; the second slab has 12 rows."""
    program = compile_emulated(models.build(models.Spec("LSTM", hidden=64, features=600)), "sequential")
    check_bound(program, {"T": 2, "B": 1030})


@pytest.mark.parametrize("classes", [6, 9])
def test_two_products_of_one_sequence(classes):
    """Two products of the graph read all states: a tile has columns of both or of only one."""
    spec = models.Spec("RNN", hidden=24, classes=classes, head="gated")
    check_bound(compile_emulated(models.build(spec), "sequential"), {"T": 23, "B": 3})


def test_default_program_has_both_backward_passes():
    """Without options, a program has both backward passes and the runtime selects one."""
    model = models.build(MODELS["lstm-h33"])
    program = harness.compile_model(model, f"--loss={LOSS}", "--target=cuda", "--emulate")
    arrays, found = check_bound(program, {"T": 7, "B": 3})
    check_same_bits(program.grad(arrays, "--backward=sequential"), found, "sequential")
    exact, single = references.gradients(model, arrays, LOSS)
    harness.check_gradients(program.grad(arrays, "--backward=scan"), exact, single, "scan")


@pytest.mark.parametrize("precision,tolerance", [("tf32", 2**-10), ("bf16", 2**-7)])
def test_precision(precision, tolerance):
    """TF32 and BF16 (11 and 8 significant bits) meet their error bounds, but not float32's."""
    model = models.build(MODELS["rnn-h64-steps"])
    options = ["--target=cuda", "--emulate", "--backward=scan", "--scan=chunked:2"]
    program = harness.compile_model(model, f"--loss={LOSS}", f"--precision={precision}", *options)
    assert program.info()["precision"] == precision
    arrays = models.data(model, {"T": 7, "B": 1}, LOSS)
    exact, single = references.gradients(model, arrays, LOSS)
    found = program.grad(arrays)
    errors = [harness.relative_error(found[name], exact[name]) for name in exact]
    singles = [harness.relative_error(single[name], exact[name]) for name in exact]
    assert 20 * max(singles) < max(errors) < tolerance


# --- schedules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name,plan,time,batch",
    [
        ("lstm-h1-steps", "chunked:7", 40, 3),
        ("gru-h4-bidirectional-steps", "blelloch", 9, 2),
        ("gru-h4-bidirectional-steps", "hybrid:2", 11, 2),
        ("gru-linear-before-reset-h20-reverse", "sequential", 9, 3),
        ("gru-linear-before-reset-h20-reverse", "chunked", 17, 1),
        ("lstm-h9", "chunked:7", 40, 3),
        ("lstm-h33", "hybrid:1", 5, 1),
        ("lstm-h33", "linear", 6, 2),
        ("rnn-h64-steps", "chunked:1", 3, 1),
    ],
)
def test_schedules(name, plan, time, batch):
    """The order of blocks, warps and threads does not change any bit."""
    program = compile_emulated(models.build(MODELS[name]), plan)
    arrays = models.data(program.model, {"T": time, "B": batch}, LOSS)
    check_schedules(program, arrays, program.grad(arrays))


@pytest.mark.parametrize(
    "spec,plan",
    [
        pytest.param(models.Spec("GRU", hidden=64, head="steps"), "sequential", id="shared-rows"),
        pytest.param(models.Spec("GRU", hidden=130), "sequential", id="rows-shared-by-blocks"),
        pytest.param(models.Spec("GRU", hidden=120), "chunked:2", id="rows-in-memory"),
        pytest.param(models.Spec("RNN", hidden=130, features=600), "sequential", id="long-inputs"),
        pytest.param(
            models.Spec("GRU", hidden=20, features=40, direction="reverse"),
            "sequential",
            id="inputs-taken-out",
        ),
    ],
)
def test_schedules_of_wide_layers(spec, plan):
    """Rows shared by several threads or blocks, rows in memory, and hoisted input projections."""
    program = compile_emulated(models.build(spec), plan)
    check_schedules(program, *check_bound(program, {"T": 3, "B": 2}))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(models.Spec("RNN", hidden=20), id="4-threads"),
        pytest.param(models.Spec("LSTM", hidden=7, initial="parameter"), id="2-threads"),
        pytest.param(models.Spec("LSTM", hidden=10, head="steps"), id="4-threads-of-10-rows"),
        pytest.param(models.Spec("GRU", hidden=13), id="4-threads-of-13-rows"),
        pytest.param(models.Spec("GRU", hidden=19), id="8-threads-of-19-rows"),
    ],
)
def test_schedules_of_columns_shared_in_a_warp(spec):
    """Columns shared by threads of a warp; with 3 samples, the last warp has fewer columns."""
    program = compile_emulated(models.build(spec), "chunked:3")
    check_bound(program, {"T": 8, "B": 1})
    check_schedules(program, *check_bound(program, {"T": 10, "B": 3}))


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(models.Spec("RNN", hidden=33), id="matrices-in-registers"),
        pytest.param(models.Spec("GRU", hidden=64), id="matrices-in-memory"),
    ],
)
def test_schedules_of_tensor_core_products(spec):
    """Products on tensor cores; 33 units leave tiles partly filled."""
    program = compile_emulated(models.build(spec), "chunked:2")
    check_schedules(program, *check_bound(program, {"T": 5, "B": 1}))


@pytest.mark.parametrize(
    "spec,time,batch",
    [
        # The emulated GPU cannot hold two groups of 16 samples, which requires two launches.
        (models.Spec("LSTM", hidden=136, head="steps", initial="parameter"), 3, 17),
        (models.Spec("RNN", hidden=300, direction="reverse"), 7, 3),
        (models.Spec("RNN", hidden=1024), 2, 1),
    ],
    ids=lambda value: value.label() if isinstance(value, models.Spec) else str(value),
)
def test_rows_distributed_over_thread_blocks(spec, time, batch):
    """The number of multiprocessors limits the samples per group, but does not change results."""
    program = compile_emulated(models.build(spec), "sequential")
    arrays, found = check_bound(program, {"T": time, "B": batch})
    for multiprocessors in ("1", "40"):
        other = program.grad(arrays, "--threads", multiprocessors)
        check_same_bits(other, found, f"{multiprocessors} multiprocessors")


@pytest.mark.parametrize("time,batch", [(7, 3), (1, 1), (131, 9)], ids=str)
def test_schedules_of_tiled_weight_gradients(time, batch):
    """Sums over steps and samples on tensor cores use one or two slabs; no size fills a tile."""
    spec = models.Spec("RNN", hidden=33, features=40, head="steps")
    program = compile_emulated(models.build(spec), "blelloch")
    arrays, found = check_bound(program, {"T": time, "B": batch})
    if time * batch < 1024:
        check_schedules(program, arrays, found)


def test_schedules_of_graph_operations():
    """Convolutions with overlapping windows, pooling, and sums over samples."""
    builder = images.ImageBuilder((2, 7, 7))
    builder.conv(3, (3, 3)).layer("Tanh").conv(2, (2, 2)).pool("MaxPool", (2, 2))
    program = compile_emulated(builder.flatten().linear(4).finish(), "sequential")
    check_schedules(program, *check_bound(program, {"N": 3}))


@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_emulator_threads(threads):
    program = compile_emulated(models.build(MODELS["gru-h4-bidirectional-steps"]), "chunked:7")
    arrays = models.data(program.model, {"T": 20, "B": 3}, LOSS)
    expected = program.grad(arrays, "--threads=1")
    check_same_bits(program.grad(arrays, f"--threads={threads}"), expected, "--threads")


# --- other commands -------------------------------------------------------------------------------

TRAINED = "gru-h4-bidirectional-steps"


def train(program, path, *arguments):
    values = ["--batch", 4, "--lr", 0.01, "--seed", 1]
    return harness.check_succeeded(program.run("train", "--data", path, *values, *arguments))


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, **models.data(models.build(MODELS[TRAINED]), {"T": 9, "B": 12}, LOSS))
    return path


def test_resumed_training(tmp_path, data):
    """Resumed training and training in another schedule give the same model."""
    program = compile_emulated(models.build(MODELS[TRAINED]), "chunked:7")
    whole, resumed, other, checkpoint = (tmp_path / name for name in "abcd")
    train(program, data, "--epochs", 3, "--save", whole)
    train(program, data, "--epochs", 2, "--checkpoint", checkpoint)
    train(program, data, "--epochs", 3, "--resume", checkpoint, "--save", resumed)
    assert whole.read_bytes() == resumed.read_bytes()
    train(program, data, "--epochs", 3, "--save", other, "--emulate-seed", 5)
    assert whole.read_bytes() == other.read_bytes()


def test_training_against_the_cpu(tmp_path, data):
    model = models.build(MODELS[TRAINED])
    logs = []
    for program in (
        compile_emulated(model, "chunked:7"),
        compile_for_cpu(model, "chunked:7"),
    ):
        log = tmp_path / "log"
        train(program, data, "--epochs", 4, "--clip-norm", 0.5, "--val", data, "--log", log)
        epochs = [json.loads(line) for line in log.read_text().splitlines()]
        logs.append([[epoch["loss"], epoch["val_loss"]] for epoch in epochs])
        log.unlink()
    np.testing.assert_allclose(*logs, rtol=1e-5)
    assert logs[0][-1] < logs[0][0]


def test_eval_and_infer_against_the_cpu():
    model = models.build(MODELS[TRAINED])
    gpu = compile_emulated(model, "chunked:7")
    cpu = compile_for_cpu(model, "chunked:7")
    arrays = models.data(model, {"T": 9, "B": 7}, LOSS)
    found, expected = gpu.eval(arrays, "--batch=3"), cpu.eval(arrays, "--batch=3")
    assert found.keys() == expected.keys()
    assert found["accuracy"] == expected["accuracy"]
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-6)
    outputs = gpu.infer(arrays, "--batch=3")
    for name, array in cpu.infer(arrays, "--batch=3").items():
        np.testing.assert_allclose(outputs[name], array, rtol=1e-5, atol=2e-6, err_msg=name)
