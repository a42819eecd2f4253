"""Random models, sizes and plans; the test name contains the seed.

Set BPPSA_PROPERTY_SEEDS=FIRST:COUNT to run other seeds.
"""

import os

import harness
import models
import numpy as np
import pytest
import references

FIRST, COUNT = map(int, os.environ.get("BPPSA_PROPERTY_SEEDS", "1:16").split(":"))


def random_case(seed):
    rng = np.random.default_rng(seed)

    def choose(*values):
        return values[rng.integers(len(values))]

    cell = choose("RNN", "GRU", "LSTM")
    spec = models.Spec(
        cell,
        hidden=int(rng.integers(1, 40)),
        features=int(rng.integers(1, 20)),
        classes=int(rng.integers(2, 12)),
        direction=choose("forward", "reverse", "bidirectional"),
        layout=int(rng.integers(2)),
        linear_before_reset=int(rng.integers(2)),
        activations=(choose("Tanh", "Relu", "Sigmoid"),) if cell == "RNN" else (),
        bias=bool(rng.integers(4)),
        initial=choose("absent", "input", "parameter", "constant"),
        layers=int(rng.integers(1, 4)),
        head=choose("last", "steps", "none", "cell" if cell == "LSTM" else "last"),
        opset=int(rng.choice([14, 17, 20, 22])),
        seed=seed,
    )
    loss = (
        choose("mse", "huber")
        if spec.head == "none"
        else choose("cross-entropy", "nll", "mse", "bce-with-logits")
    )
    plan = choose(
        "linear",
        "blelloch",
        f"hybrid:{rng.integers(0, 7)}",
        f"chunked:{rng.integers(1, 50)}",
        "auto",
    )
    sizes = [{"T": int(rng.integers(1, 80)), "B": int(rng.integers(1, 40))} for _ in range(3)]
    return spec, loss, plan, sizes


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_model(seed):
    spec, loss, plan, sizes = random_case(seed)
    print(f"{spec.label()} loss={loss} plan={plan} sizes={sizes}")
    model = models.build(spec)
    program = harness.compile_model(model, f"--loss={loss}", f"--scan={plan}")
    for size in sizes:
        arrays = models.data(model, size, loss, seed)
        exact, single = references.gradients(model, arrays, loss)
        for backward in ("sequential", "scan"):
            found = program.grad(arrays, f"--backward={backward}")
            harness.check_gradients(found, exact, single, f"{size} {backward}")
