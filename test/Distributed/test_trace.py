"""--trace shows the order of messages."""

import collections
import json
import time

import harness
import mpi
import pytest
from fake_trainer import samples, save

STEPS, RANKS, SLICES = 7, 3, 8  # 101 samples; 12 and 4 weights in slices of 2


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Returns the events of a run, and its duration in seconds."""
    directory = tmp_path_factory.mktemp("trace")
    data, trace = save(directory / "data.npz", samples(101)), directory / "trace.json"
    words = ["train", "--data", data, "--batch", 16, "--exchange=p3", "--slice", 2]
    # A slow network, so that messages queue up.
    words += ["--throttle", "0.0005,0", "--trace", trace]
    begin = time.monotonic()
    harness.check_succeeded(mpi.run(RANKS, mpi.fake(), *words))
    return json.loads(trace.read_text())["traceEvents"], time.monotonic() - begin


@pytest.fixture(scope="module")
def trace(run):
    return [event for event in run[0] if event["ph"] == "X"]


def slices(trace):
    return [event for event in trace if event["name"].split()[0] in ("push", "sum")]


def test_every_slice_is_reduced_and_broadcast(trace):
    counts = collections.Counter(event["name"] for event in slices(trace))
    names = {f"{kind} {number}" for kind in ("push", "sum") for number in range(SLICES)}
    assert counts == {name: STEPS * (RANKS - 1) for name in names}
    for event in slices(trace):
        kind, number = event["name"].split()
        owner = int(number) % RANKS
        assert (event["args"]["to"] if kind == "push" else event["pid"]) == owner


def test_slices_are_sent_in_order_of_priority(trace):
    for rank in range(RANKS):
        sent = [event for event in slices(trace) if event["pid"] == rank]
        for event in sent:
            for other in sent:
                is_waiting = other["args"]["ready"] + 500 < event["ts"] < other["ts"]
                assert not is_waiting or other["args"]["priority"] >= event["args"]["priority"]


def test_messages_do_not_overlap(trace):
    for rank in range(RANKS):
        sent = sorted(
            (event["ts"], event["ts"] + event["dur"]) for event in slices(trace) if event["pid"] == rank
        )
        assert all(end <= start + 1 for (_, end), (start, _) in zip(sent, sent[1:], strict=False))


def test_time_of_communication_threads(run):
    events, seconds = run
    taken = {event["pid"]: event["args"]["seconds"] for event in events if event["ph"] == "C"}
    assert set(taken) == set(range(RANKS))
    assert all(0 < number < seconds for number in taken.values())
