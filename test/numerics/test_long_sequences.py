"""T = 30000 with weights that preserve gradients: orthogonal recurrent matrices and slow gates."""

import harness
import models
import pytest
import references

LOSS = "cross-entropy"
MODELS = {
    "rnn-orthogonal": models.Spec("RNN", hidden=20, weights="orthogonal"),
    "rnn-relu-orthogonal": models.Spec(
        "RNN", hidden=20, weights="orthogonal", activations=("Relu",), head="last", seed=3
    ),
    "gru-slow-gate": models.Spec("GRU", hidden=20, z_bias=4.0),
    "gru-orthogonal-slow-gate": models.Spec("GRU", hidden=20, weights="orthogonal", z_bias=4.0),
    "lstm-orthogonal": models.Spec("LSTM", hidden=20, weights="orthogonal"),
}


@pytest.mark.parametrize("plan", ["sequential", "linear", "chunked:128", "auto"])
@pytest.mark.parametrize("name", MODELS)
def test_long(name, plan):
    model = models.build(MODELS[name])
    arrays = models.data(model, {"T": 30000, "B": 2}, LOSS)
    if name == "rnn-relu-orthogonal":
        # Keep the sum of 30000 inputs small, because an isometry does not damp them.
        arrays["x"] *= 1e-3
    options = (
        ["--backward=sequential"] if plan == "sequential" else ["--backward=scan", f"--scan={plan}"]
    )
    program = harness.compile_model(model, f"--loss={LOSS}", *options)
    exact, single = references.gradients(model, arrays, LOSS)
    harness.check_gradients(program.grad(arrays), exact, single)
