# Part of the bppsa project, under the MIT License.
"""ONNX models and recurrent layers as PyTorch modules."""

import copy
import itertools
import pickle

import bitstreams
import harness
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: utils/check.sh --torch")
pytest.importorskip("bppsa._native", reason="the package is not built: utils/python.sh")
import bppsa.torch  # noqa: E402
from bppsa.torch.operators import backward, forward, infer  # noqa: E402
from bppsa.torch.recurrent import _layer  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence  # noqa: E402

KINDS = ["RNN", "GRU", "LSTM"]
SETTINGS = [
    {},
    {"num_layers": 2, "bidirectional": True},
    {"batch_first": True, "bias": False},
]


def make_pair(kind, *arguments, **settings):
    """Returns our layer and PyTorch's with equal parameters."""
    torch.manual_seed(0)
    theirs = getattr(torch.nn, kind)(*arguments, **settings)
    ours = getattr(bppsa.torch, kind)(*arguments, **settings)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs


def flat(results):
    """Returns the tensors of nested results."""
    if isinstance(results, torch.Tensor):
        return [results]
    if isinstance(results, torch.nn.utils.rnn.PackedSequence):
        return [results.data]
    return [tensor for part in results for tensor in flat(part)]


def check_pair(ours, theirs, *arguments):
    """Compares results and the gradients of a function of all results."""
    found, expected = ours(*arguments), theirs(*arguments)
    leaves = [t for t in flat(arguments) if t.requires_grad]
    gradients = []
    for module, results in ((ours, found), (theirs, expected)):
        total = sum((torch.arange(t.numel()).reshape(t.shape).cos() * t).sum() for t in flat(results))
        wanted = [*dict(module.named_parameters()).values(), *leaves]
        gradients.append(torch.autograd.grad(total, wanted))
    for one, other in zip(flat(found), flat(expected), strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    for one, other in zip(*gradients, strict=True):
        assert harness.relative_error(one.numpy(), other.numpy()) < 1e-4


@pytest.mark.parametrize(("kind", "settings"), list(itertools.product(KINDS, SETTINGS)))
def test_layers_match_pytorch(kind, settings):
    ours, theirs = make_pair(kind, 3, 4, **settings)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = torch.randn(5, 6, 3, requires_grad=True)
    check_pair(ours, theirs, x)
    count = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
    samples = 5 if settings.get("batch_first") else 6
    states = [torch.randn(count, samples, 4, requires_grad=True) for _ in range(2)]
    check_pair(ours, theirs, x, tuple(states) if kind == "LSTM" else states[0])


@pytest.mark.parametrize("kind", KINDS)
def test_unbatched_input(kind):
    ours, theirs = make_pair(kind, 3, 4)
    check_pair(ours, theirs, torch.randn(5, 3, requires_grad=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("enforce_sorted", [True, False])
def test_packed_sequences(kind, enforce_sorted):
    ours, theirs = make_pair(kind, 3, 4, bidirectional=True)
    lengths = [5, 4, 4, 1] if enforce_sorted else [1, 4, 5, 4]
    x = torch.randn(5, 4, 3, requires_grad=True)
    packed = pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)
    check_pair(ours, theirs, packed)
    found = ours(pack_sequence([torch.ones(2, 3), torch.ones(1, 3)]))[0]
    assert found.batch_sizes.tolist() == [2, 1]


def test_relu():
    ours, theirs = make_pair("RNN", 3, 4, nonlinearity="relu")
    check_pair(ours, theirs, torch.randn(5, 2, 3, requires_grad=True))
    assert bppsa.torch.RNN(3, 4, 1, "relu")._activation() == "Relu"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bppsa.torch.LSTM(3, 4, proj_size=2), "proj_size"),
        (lambda: bppsa.torch.GRU(3, 4, num_layers=2, dropout=0.5), "dropout"),
        (lambda: bppsa.torch.RNN(3, 4, nonlinearity="sin"), "found 'sin'"),
        (lambda: bppsa.torch.GRU(3, 4)(torch.zeros(2, 2, 5)), "3 features, found 5"),
        (lambda: bppsa.torch.GRU(3, 4)(torch.zeros(2, 0, 3)), "at least a step and a sample"),
        (lambda: bppsa.torch.GRU(3, 4)(torch.zeros(3)), "2 or 3 axes, found 1"),
        (lambda: bppsa.torch.GRU(3, 4)(torch.zeros(2, 2, 3), torch.zeros(1, 3, 4)), "initial state"),
        (lambda: bppsa.torch.GRU(3, 4).double()(torch.zeros(2, 2, 3).double()), "float64"),
        (lambda: bppsa.torch.GRU(3, 4).bfloat16()(torch.zeros(2, 2, 3).bfloat16()), "in float32, .*bfloat16"),
        (lambda: pickle.dumps(bppsa.torch.Module(bitstreams.MODEL)), "cannot be pickled; save state_dict"),
    ],
)
def test_unsupported_uses_are_refused(make, message):
    with pytest.raises(bppsa.Error, match=message):
        make()


@pytest.fixture(scope="module")
def model():
    return bppsa.torch.Module(bitstreams.MODEL, backward="sequential")


def test_module_parameters_match_model(model):
    inputs, target = bitstreams.arrays()
    state = {name: value.detach().numpy() for name, value in model.named_parameters()}
    assert set(state) == {"head.weight", "head.bias", bitstreams.W, bitstreams.R, bitstreams.B}
    assert list(model.state_dict()) == list(state)
    x = torch.from_numpy(inputs["x"]).requires_grad_()
    loss = torch.nn.functional.cross_entropy(model(x), torch.from_numpy(target))
    loss.backward()
    expected, exact = bitstreams.exact_gradients(state, inputs["x"], target)
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    for name, parameter in model.named_parameters():
        assert harness.relative_error(parameter.grad.numpy(), exact[name]) < 1e-5, name
    assert harness.relative_error(x.grad.numpy(), exact["x"]) < 1e-5
    torch.testing.assert_close(model(x=x), model(x))
    with pytest.raises(bppsa.Error, match="takes x, found nothing"):
        model()


def recurrent_function():
    """A layer and arguments with different sample lengths; outputs after the ends are zero."""
    function = _layer("LSTM", 3, 5, 2, "Tanh", lengths=True)
    generator = torch.Generator().manual_seed(0)
    parameters = [
        torch.randn(function.program.parameters[name].shape, generator=generator)
        for name in function.parameters
    ]
    states = [torch.randn(2, 3, 5, generator=generator) for _ in range(2)]
    lengths = torch.tensor([4, 1, 3], dtype=torch.int32)
    return function, parameters, [torch.randn(4, 3, 3, generator=generator), lengths, *states]


def model_function():
    function = bppsa.torch.Module(bitstreams.MODEL, backward="sequential")._shared.function
    parameters = [torch.from_numpy(function.program.parameters[n].copy()) for n in function.parameters]
    return function, parameters, [torch.randn(3, 2, 1)]


@pytest.mark.parametrize("make", [recurrent_function, model_function])
def test_operators_pass_opcheck(make):
    """All opcheck checks pass; tracing checks compare several calls, including their residuals."""
    function, parameters, inputs = make()
    torch.library.opcheck(infer, (function.key, parameters, inputs))
    *results, residuals = forward(function.key, parameters, inputs)
    cotangents = [torch.randn_like(result) for result in results]
    for given, of_inputs in ((cotangents, True), ([None, *cotangents[1:]], False)):
        arguments = (function.key, parameters, inputs, residuals, given, of_inputs)
        torch.library.opcheck(backward, arguments)
    differentiable = [
        [t.clone().requires_grad_(t.is_floating_point()) for t in tensors]
        for tensors in (parameters, inputs)
    ]
    torch.library.opcheck(forward, (function.key, *differentiable))


def test_gradients_match_finite_differences(model):
    function = model._shared.function
    parameters = [
        model.get_parameter(name).detach().clone().requires_grad_() for name in function.parameters
    ]
    x = torch.randn(3, 2, 1, requires_grad=True)
    flat_arguments = (x, *parameters)

    def run(x, *parameters):
        return forward(function.key, list(parameters), [x])[0]

    assert torch.autograd.gradcheck(run, flat_arguments, eps=1e-2, atol=1e-2, rtol=1e-2, nondet_tol=1e-6)


def test_compile(model):
    network = torch.nn.Sequential(model, torch.nn.Linear(10, 2))
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager", dynamic=True)
    for steps, samples in ((4, 3), (6, 2)):
        x = torch.randn(steps, samples, 1)
        gradients = []
        for module in (network, compiled):
            network.zero_grad()
            module(x).square().sum().backward()
            gradients.append([p.grad.clone() for p in network.parameters()])
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_layers(dynamic):
    """Compiles for new layer sizes too."""
    ours, theirs = make_pair("LSTM", 3, 7 + dynamic, num_layers=2, bidirectional=True)
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    check_pair(compiled, theirs, torch.randn(5, 2, 3, requires_grad=True))


def test_compile_with_lengths():
    """The size of the residuals depends on values."""
    model = bppsa.torch.Module(harness.ROOT / "test" / "zoo" / "Inputs" / "packed_torchscript.onnx")
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    for lengths in ([5, 2, 1], [7, 7, 3], [3, 2]):
        x = torch.randn(len(lengths), 7, 6, requires_grad=True)
        found, expected = (
            torch.autograd.grad(f(x, torch.tensor(lengths)).square().sum(), [x, *model.parameters()])
            for f in (compiled, model)
        )
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)


def test_training_losses_match_pytorch():
    """In 100 Adam steps of a GRU and a PyTorch linear layer, losses match PyTorch."""
    losses = []
    for kind in (bppsa.torch.GRU, torch.nn.GRU):
        torch.manual_seed(1)
        layer, head = kind(3, 8), torch.nn.Linear(8, 4)
        optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-2)
        x, target = torch.randn(20, 8, 3), torch.randint(0, 4, (8,))
        losses.append([])
        for _ in range(100):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(head(layer(x)[0][-1]), target)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    np.testing.assert_allclose(*losses, rtol=1e-4)
    assert losses[0][-1] < 0.5 * losses[0][0]


def test_copies_have_separate_parameters(model):
    other = copy.deepcopy(model)
    x = torch.randn(4, 2, 1)
    before = model(x)
    with torch.no_grad():
        other.get_parameter("head.bias").add_(1)
    torch.testing.assert_close(other(x), before + 1)
    torch.testing.assert_close(model(x), before)


def test_autocast(model):
    x = torch.randn(4, 2, 1)
    with torch.autocast("cpu", torch.bfloat16):
        found = model(x.to(torch.bfloat16))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, model(x.to(torch.bfloat16).float()))


def test_nonfinite_gradients():
    ours, theirs = make_pair("GRU", 3, 4)
    x = torch.ones(3, 2, 3)
    x[1, 0, 0] = torch.inf
    for layer in (ours, theirs):
        layer(x)[0].sum().backward()
    for layer in (ours, theirs):
        assert not layer.weight_ih_l0.grad.isfinite().all()
    torch.testing.assert_close(ours.bias_ih_l0.grad, theirs.bias_ih_l0.grad)


def test_interleaved_forward_and_backward_passes():
    layer, _ = make_pair("LSTM", 3, 4)
    xs = [torch.randn(5, 2, 3, requires_grad=True) for _ in range(3)]
    alone = [torch.autograd.grad(layer(x)[0].square().sum(), [x, *layer.parameters()]) for x in xs]
    losses = [layer(x)[0].square().sum() for x in xs]
    for i in (2, 0, 2, 1):
        found = torch.autograd.grad(losses[i], [xs[i], *layer.parameters()], retain_graph=True)
        for one, other in zip(found, alone[i], strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_parameters_must_not_change_before_the_backward_pass(model):
    other = copy.deepcopy(model)
    loss = other(torch.randn(3, 2, 1)).sum()
    with torch.no_grad():
        other.get_parameter("head.weight").add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_no_residuals_without_gradients(model, monkeypatch):
    function = model._shared.function
    x = torch.randn(3, 2, 1)
    expected = model(x).detach()
    monkeypatch.setattr(function, "forward", None)
    with torch.no_grad():
        torch.testing.assert_close(model(x), expected)


def test_from_module():
    """The batch size remains dynamic."""
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    compiled = bppsa.torch.from_module(network, torch.randn(4, 3))
    x = torch.randn(7, 3)
    torch.testing.assert_close(compiled(x), network(x), rtol=1e-4, atol=1e-5)
    assert set(compiled.state_dict()) == set(network.state_dict())


class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = torch.nn.GRU(3, 4, batch_first=True), torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


def test_from_module_with_dynamic_batch_and_time():
    pytest.importorskip("onnxscript")
    torch.manual_seed(0)
    network = Tagger()
    compiled = bppsa.torch.from_module(network, torch.randn(4, 6, 3))
    for shape in ((2, 9, 3), (5, 3, 3)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), network(x), rtol=1e-4, atol=1e-5)


def test_from_module_with_static_sizes():
    """A warning names static sizes; an explicit `dynamic_shapes` has priority."""
    pytest.importorskip("onnxscript")

    class Fixed(torch.nn.Module):
        def forward(self, x):
            return x + torch.ones(4, 3)

    with pytest.warns(bppsa.CompileWarning, match="axis 0 of 'x' has the fixed size 4; .*dynamic_shapes"):
        compiled = bppsa.torch.from_module(Fixed(), torch.zeros(4, 3))
    torch.testing.assert_close(compiled(torch.zeros(4, 3)), torch.ones(4, 3))
    compiled = bppsa.torch.from_module(torch.nn.Linear(3, 2), torch.zeros(4, 3), dynamic_shapes={})
    with pytest.raises(bppsa.Error, match="4"):
        compiled(torch.zeros(5, 3))


def test_types():
    harness.check_types(*(harness.ROOT / "python/bppsa/torch").glob("*.py"))
