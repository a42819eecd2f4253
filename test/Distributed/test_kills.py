"""Training on eight ranks, some of which are killed, ends with the bits of an undisturbed run."""

import kills
import mpi
from fake_trainer import save
from test_batch_statistics_of_ranks import samples, stack
from test_programs import compile_model


def test_three_kills(tmp_path):
    mpi.command(8)
    program = compile_model(stack(), "--optimizer=adam", "--backward=sequential", "--sync-bn")
    data = save(tmp_path / "d.npz", samples(61))
    options = ["--epochs", 6, "--batch", 16, "--lr", 0.01, "--checkpoint-every", 1]
    # test_failures.py tests how fast ranks end; eight ranks on a busy machine take longer.
    figures = kills.disturb(program, data, 8, options, seed=1, kills=3, patience=100)
    assert figures["kills"] == 3 and figures["rounds"] >= 1
