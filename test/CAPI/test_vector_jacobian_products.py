"""Separate forward and backward passes of programs compiled with `--loss=vjp`."""

import pathlib
import resource

import capi
import harness
import models
import numpy as np
import onnx
import onnx_in_jax
import pytest
import references

KERAS = onnx.load(harness.ROOT / "examples" / "keras_gru.onnx")
CASES = {
    "rnn": models.build(models.Spec("RNN", initial="input", head="steps")),
    "gru": models.build(models.Spec("GRU", direction="bidirectional")),
    "lstm": models.build(models.Spec("LSTM", lengths=True, initial="input")),
    "two outputs": KERAS,
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Returns a model, its program, inputs, and reference outputs in float64."""
    model = CASES[request.param]
    program = capi.Program.compile(model.SerializeToString(), loss="vjp", O=1)
    if model is KERAS:
        rng = np.random.default_rng(3)
        inputs = {"x": rng.standard_normal((5, 6, 12)).astype("f4")}
    else:
        inputs = models.data(model, {"T": 6, "B": 5}, "none")
    return model, program, inputs, onnx_in_jax.outputs(model, inputs, np.float64)


def products(model, inputs, outputs, rng):
    """Returns cotangents and their VJPs in float64 and float32.

    The gradient of mean((y - t)^2) is the VJP of the cotangent 2 (y - t) / n, for any target t.
    """
    cotangents, exact, single = {}, {}, {}
    for name, y in outputs.items():
        targets = (np.asarray(y) + rng.standard_normal(y.shape)).astype("f4")
        cotangents[name] = (2 * (np.asarray(y, "f8") - targets) / y.size).astype("f4")
        arrays = {**inputs, "target": targets}
        for sums, found in zip((exact, single), references.gradients(model, arrays, "mse", name)):
            for key, value in found.items():
                sums[key] = sums.get(key, 0) + value
    for sums in (exact, single):
        del sums["loss"]
    return cotangents, exact, single


def empty(program, inputs, names):
    """Allocates gradients with these names."""
    shapes = {**inputs, **program.parameters()}
    return {name: np.full(shapes[name].shape, 7, "f4") for name in names}


def draw(outputs, seed):
    """Allocates the outputs and draws random cotangents."""
    rng = np.random.default_rng(seed)
    memory = {name: np.empty(y.shape, "f4") for name, y in outputs.items()}
    return memory, {n: rng.standard_normal(y.shape).astype("f4") for n, y in outputs.items()}


@pytest.mark.parametrize("backward", ["sequential", "scan"])
def test_products(case, backward):
    model, program, inputs, exact_outputs = case
    program.set_variant(backward)
    cotangents, exact, single = products(model, inputs, exact_outputs, np.random.default_rng(1))
    outputs = {name: np.empty(y.shape, "f4") for name, y in exact_outputs.items()}
    residuals = program.forward(inputs, outputs)
    for name, y in exact_outputs.items():
        np.testing.assert_allclose(outputs[name], y, rtol=1e-5, atol=2e-6)
    gradients = {name: np.empty(value.shape, "f4") for name, value in exact.items()}
    program.backward(inputs, residuals, cotangents, gradients)
    harness.check_gradients(gradients, exact, single)


@pytest.mark.parametrize("mapping", ["lanes", "units"])
@pytest.mark.parametrize("threads", [1, 2])
def test_products_equal_grad(case, mapping, threads):
    """Separate passes compute bitwise the gradients of `grad`, which runs both in one function."""
    _, program, inputs, exact_outputs = case
    program.set_variant("sequential", mapping=mapping)
    program.set_threads(threads)
    outputs, cotangents = draw(exact_outputs, 2)
    names = program.names(capi.TARGET)
    targets = dict(zip(names, [cotangents[n] for n in program.names(capi.OUTPUT)], strict=True))
    _, whole = program.grad({**inputs, **targets})
    gradients = empty(program, inputs, whole)
    program.backward(inputs, program.forward(inputs, outputs), cotangents, gradients)
    for name, value in whole.items():
        np.testing.assert_array_equal(gradients[name], value, err_msg=name)


def test_interleaved_passes(case):
    _, program, inputs, exact_outputs = case
    program.set_variant("sequential")
    names = program.names(capi.GRADIENT)
    outputs, cotangents = draw(exact_outputs, 2)
    scales = (1.0, 0.5, -2.0)
    batches = [{**inputs, "x": inputs["x"] * np.float32(scale)} for scale in scales]
    alone = []
    for batch in batches:
        alone.append(empty(program, inputs, names))
        program.backward(batch, program.forward(batch, outputs), cotangents, alone[-1])
    residuals = [program.forward(batch, outputs) for batch in batches]
    for i in (1, 2, 0, 1):
        gradients = empty(program, inputs, names)
        program.backward(batches[i], residuals[i], cotangents, gradients)
        for name in names:
            np.testing.assert_array_equal(gradients[name], alone[i][name])


def check_residuals(program, inputs):
    """Checks that residuals depend only on the arguments and not on previous memory contents.

    Frameworks compare all bytes that an operator writes. Bytes after the residuals stay
    untouched.
    """
    blocks = {content: np.full(program.residual_bytes(inputs), content, "u1") for content in (0, 0xFF, 0x5A)}
    for content, block in blocks.items():
        program.forward(inputs, {}, block)
        used = program.used_residual_bytes(block)
        np.testing.assert_array_equal(block[:used], blocks[0][:used])
        assert (block[used:] == content).all()
    return used


@pytest.mark.parametrize("variant", [("sequential", "lanes"), ("sequential", "units"), ("scan", None)])
def test_residuals_depend_only_on_arguments(case, variant):
    _, program, inputs, _ = case
    backward, mapping = variant
    program.set_variant(backward, mapping=mapping)
    check_residuals(program, inputs)


ZOO = harness.ROOT / "test" / "zoo" / "Inputs"


@pytest.mark.parametrize(
    ("path", "shapes"),
    [
        (harness.ROOT / "examples" / "irmas_gru_dynamo.onnx", {"x": (6, 5, 12)}),
        (ZOO / "tcn_dynamo.onnx", {"x": (5, 7, 3)}),
        (ZOO / "packed_torchscript.onnx", {"x": (3, 7, 6), "lengths": (3,)}),
    ],
    ids=["last step", "borders", "steps of the longest sample"],
)
def test_residuals_of_partly_written_arrays(path, shapes):
    program = capi.Program.compile(path, loss="vjp", O=0)
    rng = np.random.default_rng(5)
    inputs = {name: rng.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    if "lengths" in inputs:
        inputs["lengths"] = np.array([5, 2, 1])
    program.set_variant("sequential")
    used = check_residuals(program, inputs)
    assert ("lengths" in inputs) == (used < program.residual_bytes(inputs))


def test_used_part_of_residuals_suffices():
    """For ragged batches, a backward pass needs only the used part of the residuals."""
    program = capi.Program.compile(CASES["lstm"].SerializeToString(), loss="vjp", O=0)
    inputs = models.data(CASES["lstm"], {"T": 6, "B": 37}, "none")
    outputs, cotangents = draw(program.infer(inputs), 2)
    names = program.names(capi.GRADIENT)
    whole, part = empty(program, inputs, names), empty(program, inputs, names)
    residuals = program.forward(inputs, outputs)
    program.backward(inputs, residuals, cotangents, whole)
    used = program.used_residual_bytes(residuals)
    assert used < 0.5 * residuals.size
    program.backward(inputs, residuals[:used].copy(), cotangents, part)
    for name in names:
        np.testing.assert_array_equal(part[name], whole[name])
    for given in (residuals[: used - 1].copy(), np.full(200, 7, "u1")):
        with pytest.raises(capi.Failure, match=f"take {used} bytes, found {used - 1}|to another program"):
            program.backward(inputs, given, cotangents, part)
        with pytest.raises(capi.Failure, match=f"take {used} bytes, found {used - 1}|to another program"):
            program.used_residual_bytes(given)


@pytest.mark.parametrize("backward", ["sequential", "scan"])
def test_gradients_of_parameters_only(case, backward):
    """A separate function computes the parameter gradients without the gradients of inputs."""
    _, program, inputs, exact_outputs = case
    program.set_variant(backward)
    outputs, cotangents = draw(exact_outputs, 2)
    everything = empty(program, inputs, program.names(capi.GRADIENT))
    alone = {name: np.full_like(everything[name], 7) for name in everything if name not in inputs}
    residuals = program.forward(inputs, outputs)
    program.backward(inputs, residuals, cotangents, everything)
    program.backward(inputs, residuals, cotangents, alone)
    for name, value in alone.items():
        np.testing.assert_array_equal(value, everything[name])


def test_backward_pass_does_not_change_residuals(case):
    _, program, inputs, exact_outputs = case
    outputs, cotangents = draw(exact_outputs, 2)
    for backward in ("sequential", "scan"):
        program.set_variant(backward)
        residuals = program.forward(inputs, outputs)
        before = residuals.copy()
        program.backward(inputs, residuals, cotangents, empty(program, inputs, ["x"]))
        np.testing.assert_array_equal(residuals, before)


def test_outputs_may_change_before_the_backward_pass(case):
    _, program, inputs, exact_outputs = case
    outputs, cotangents = draw(exact_outputs, 2)
    names = program.names(capi.GRADIENT)
    first, second = empty(program, inputs, names), empty(program, inputs, names)
    residuals = program.forward(inputs, outputs)
    program.backward(inputs, residuals, cotangents, first)
    for array in outputs.values():
        array[...] = np.nan
    program.backward(inputs, residuals, cotangents, second)
    for name in names:
        np.testing.assert_array_equal(second[name], first[name])


def test_backward_pass_uses_variant_of_forward_pass(case):
    _, program, inputs, exact_outputs = case
    outputs, cotangents = draw(exact_outputs, 2)
    results = []
    for now in ("sequential", "scan"):
        program.set_variant("sequential")
        residuals = program.forward(inputs, outputs)
        program.set_variant(now)
        results.append(empty(program, inputs, program.names(capi.GRADIENT)))
        program.backward(inputs, residuals, cotangents, results[-1])
    for name, value in results[0].items():
        np.testing.assert_array_equal(results[1][name], value)


def test_arrays_replace_parameters(case):
    _, program, inputs, exact_outputs = case
    program.set_variant("sequential")
    outputs, cotangents = draw(exact_outputs, 2)
    names = program.names(capi.GRADIENT)
    own = {name: view.copy() for name, view in program.parameters().items()}
    other = {name: view * np.float32(0.5) for name, view in own.items()}
    arrays = {**inputs, **other}
    given = empty(program, inputs, names)
    program.backward(arrays, program.forward(arrays, outputs), cotangents, given)
    for name, view in program.parameters().items():
        np.testing.assert_array_equal(view, own[name])
        view[...] = other[name]
    written, expected = empty(program, inputs, names), draw(exact_outputs, 2)[0]
    program.backward(inputs, program.forward(inputs, expected), cotangents, written)
    inferred = program.infer(inputs)
    program.reset()
    for name, value in expected.items():
        np.testing.assert_array_equal(outputs[name], value)
        np.testing.assert_array_equal(program.infer(arrays)[name], inferred[name])
    for name in names:
        np.testing.assert_array_equal(given[name], written[name])


def test_missing_cotangents_are_zero(case):
    _, program, inputs, exact_outputs = case
    outputs, _ = draw(exact_outputs, 2)
    gradient = {"x": np.full_like(inputs["x"], 7)}
    program.backward(inputs, program.forward(inputs, outputs), {}, gradient)
    assert (gradient["x"] == 0).all()


def test_infinite_gradients_are_returned(case):
    _, program, inputs, exact_outputs = case
    outputs, _ = draw(exact_outputs, 2)
    cotangents = {name: np.full(y.shape, np.inf, "f4") for name, y in exact_outputs.items()}
    gradient = {"x": np.zeros_like(inputs["x"])}
    program.backward(inputs, program.forward(inputs, outputs), cotangents, gradient)
    assert not np.isfinite(gradient["x"]).all()


def test_wrong_cotangents_and_gradients(case):
    _, program, inputs, exact_outputs = case
    outputs, _ = draw(exact_outputs, 2)
    residuals = program.forward(inputs, outputs)
    name, y = next(iter(exact_outputs.items()))
    gradient = {"x": np.full_like(inputs["x"], 7)}
    for cotangents, words in [
        ({"z": np.zeros(y.shape, "f4")}, "a cotangent is named twice, or after none of the outputs"),
        ({name: np.zeros((2, *y.shape), "f4")}, f"array '{name}': found float32"),
        ({name: np.zeros(y.shape, "f8")}, f"array '{name}': found float64"),
    ]:
        with pytest.raises(capi.Failure, match=words):
            program.backward(inputs, residuals, cotangents, gradient)
    with pytest.raises(capi.Failure, match="unknown gradient 'z'"):
        program.backward(inputs, residuals, {}, {"z": y.astype("f4")})
    assert (gradient["x"] == 7).all()


def test_wrong_residuals(case):
    model, program, inputs, exact_outputs = case
    outputs, cotangents = draw(exact_outputs, 2)
    gradient = {"x": np.full_like(inputs["x"], 7)}
    residuals = program.forward(inputs, outputs)
    size = program.residual_bytes(inputs)
    other = {**inputs, "x": np.concatenate([inputs["x"]] * 2, axis=0 if model is not KERAS else 1)}
    for given, words in [
        (np.zeros(size, "u1"), "the residuals belong to another program, or to none"),
        (residuals[:100], "bytes, found 100"),
        (residuals[:10], "bytes, found 10"),
        (residuals.view("i1"), "must be a compact array of uint8, found int8"),
        (residuals[::2], "must be a compact array of uint8"),
    ]:
        with pytest.raises(capi.Failure, match=words):
            program.backward(inputs, given, cotangents, gradient)
    with pytest.raises(capi.Failure, match="the residuals belong to arrays of other sizes"):
        program.backward(other, residuals, {}, gradient)
    with pytest.raises(capi.Failure, match=f"take {size} bytes, found {size - 1}"):
        program.forward(inputs, outputs, residuals[: size - 1])
    assert (gradient["x"] == 7).all()


@pytest.mark.parametrize("limit", ["0", "60000"])
def test_streams(limit):
    """A loop over a graph; a memory limit makes it keep one segment of steps at a time."""
    program = capi.Program.compile(
        harness.ROOT / "examples" / "denoiser_step.onnx", loss="vjp", O=0, memory_limit=limit,
        carry="cache:cache_next,h:h_next",
    )  # fmt: skip
    rng = np.random.default_rng(4)

    def arrays(kind):
        made = {}
        for info in program.arrays(kind):
            sizes = dict(enumerate(info.shape[: info.rank]))
            sizes |= {axis: size for axis, size in ((info.batch_axis, 3), (info.time_axis, 11)) if axis >= 0}
            made[info.name.decode()] = rng.standard_normal(list(sizes.values())).astype("f4")
        return made

    inputs, outputs = arrays(capi.INPUT), arrays(capi.OUTPUT)
    targets = arrays(capi.TARGET)
    _, whole = program.grad({**inputs, **targets})
    residuals = program.forward(inputs, outputs)
    inferred = program.infer(inputs)
    for name, value in outputs.items():
        np.testing.assert_allclose(value, inferred[name], rtol=1e-5, atol=1e-6)
    cotangents = {name.removeprefix("target."): target for name, target in targets.items()}
    for _ in range(2):
        gradients = empty(program, inputs, whole)
        program.backward(inputs, residuals, cotangents, gradients)
        for name, value in whole.items():
            np.testing.assert_array_equal(gradients[name], value, err_msg=name)


def test_residuals_of_another_program():
    inputs, programs = {"x": np.ones((6, 5, 3), "f4")}, []
    for units in (4, 5):
        model = models.build(models.Spec("RNN", hidden=units))
        programs.append(capi.Program.compile(model.SerializeToString(), loss="vjp", O=0))
    inputs = models.data(model, {"T": 6, "B": 5}, "none")
    residuals = programs[0].forward(inputs, {})
    with pytest.raises(capi.Failure, match="the residuals belong to another program, or to none"):
        programs[1].backward(inputs, residuals, {}, {})


def test_memory_does_not_grow(case):
    _, program, inputs, exact_outputs = case
    outputs, cotangents = draw(exact_outputs, 2)
    gradients = empty(program, inputs, program.names(capi.GRADIENT))
    residuals = program.forward(inputs, outputs)

    def resident():
        fields = pathlib.Path("/proc/self/statm").read_text().split()
        return int(fields[1]) * resource.getpagesize()

    sizes = []
    for _ in range(2):
        for _ in range(5000):
            program.forward(inputs, outputs, residuals)
            program.backward(inputs, residuals, cotangents, gradients)
        sizes.append(resident())
    assert sizes[1] - sizes[0] < 1 << 20


def test_other_losses_are_refused():
    model = CASES["rnn"]
    program = capi.Program.compile(model.SerializeToString(), loss="mse", O=0)
    inputs = models.data(model, {"T": 6, "B": 5}, "none")
    with pytest.raises(capi.Failure, match="need a program compiled with --loss=vjp, found the loss mse"):
        program.forward(inputs, {})


def test_vjp_with_another_loss_is_refused():
    model = CASES["rnn"].SerializeToString()
    with pytest.raises(capi.Failure, match="--loss=vjp cannot be combined with another loss"):
        capi.Program.compile(model, loss="vjp,mse", loss_on="a,b")
