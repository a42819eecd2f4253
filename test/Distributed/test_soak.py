"""Runs on a busy machine with sleeps at random places end with the results of quiet runs."""

import soak
import mpi


def test_ten_runs():
    mpi.command(2)
    figures = soak.soak(runs=10, seed=7, ranks=(3,))
    assert figures["runs"] == 10 and figures["hung launcher"] == 0
