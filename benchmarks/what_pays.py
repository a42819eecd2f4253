#!/usr/bin/env python3
# Part of the bppsa project, under the MIT License.
"""Measures techniques that speed up training on a CPU, and compares them with JAX.

  benchmarks/what_pays.py [--work build/benchmarks] [--seconds 0.3] [--rounds 3]

Prints medians of interleaved rounds in milliseconds: sparse products of a pruned chain of
convolutions, time blocking, threads, and a scan of a small state. Takes one or two minutes;
utils/demo.sh ends with it.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from peers import Compiled, Failed, Unavailable, Worker
from run import ROOT
from shapes import CLASSES, Shape

CHANNELS, SIZE, SAMPLES, LAYERS, KEPT = 128, 8, 16, 3, 0.03


def pruned_weights():
    """Returns weights of a chain of convolutions pruned by 97 %, and of its classifier."""
    rng = np.random.default_rng(1)
    shape = (CHANNELS, CHANNELS, 3, 3)
    scale = (CHANNELS * 9 * KEPT) ** -0.5
    convolutions = [
        (rng.normal(0, scale, shape) * (rng.random(shape) < KEPT)).astype(np.float32)
        for _ in range(LAYERS)
    ]
    columns = CHANNELS * SIZE * SIZE
    head = (rng.normal(0, columns**-0.5, (CLASSES, columns))).astype(np.float32)
    return convolutions, head


def write_pruned_chain(path):
    convolutions, head = pruned_weights()
    nodes, data = [], "x"
    weights = {"head": head} | {f"w{i}": array for i, array in enumerate(convolutions)}
    for i in range(LAYERS):
        nodes.append(helper.make_node("Conv", [data, f"w{i}"], [f"c{i}"], pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        data = f"r{i}"
    nodes.append(helper.make_node("Flatten", [data], ["flat"]))
    nodes.append(helper.make_node("Gemm", ["flat", "head"], ["logits"], transB=1))
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", CHANNELS, SIZE, SIZE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["B", CLASSES])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def logits_in_jax(weights, x):
    """Computes the same network in JAX, with dense layers."""
    import jax

    convolutions, head = weights
    for w in convolutions:
        x = jax.nn.relu(jax.lax.conv(x, w, (1, 1), "SAME"))
    return x.reshape(len(x), -1) @ head.T


def jax_pruned_chain(repeat):
    """Returns the milliseconds of the backward pass: gradient time minus loss time."""
    import jax
    import jax.numpy as jnp

    def loss(weights, x, target):
        logits = logits_in_jax(weights, x)
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(x)), target])

    forward, gradient = jax.jit(loss), jax.jit(jax.value_and_grad(loss))
    rng = np.random.default_rng(2)
    x = jnp.asarray(rng.random((SAMPLES, CHANNELS, SIZE, SIZE)), jnp.float32)
    arguments = (pruned_weights(), x, jnp.arange(SAMPLES) % CLASSES)
    times = {forward: [], gradient: []}
    for turn in range(repeat + 1):
        for function, found in times.items():
            begin = time.perf_counter()
            jax.block_until_ready(function(*arguments))
            if turn > 0:  # The first call compiles.
                found.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[gradient]) - statistics.median(times[forward])


def measure_pruned_chain(options):
    """Returns backward times in milliseconds: dense sequential, sparse patterns, and JAX."""
    model = options.work / "pruned.onnx"
    write_pruned_chain(model)
    times = {}
    plans = {"dense": ["--backward=sequential"]}
    plans["patterns"] = ["--backward=scan", "--scan=linear", "--prune-zeros"]
    for name, flags in plans.items():
        program = options.work / f"pruned-{name}"
        subprocess.run([options.compiler, model, *flags, "-o", program], check=True)
        command = [program, "bench", f"--batch={SAMPLES}", "--repeat=20", "--threads=1"]
        answers = [
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(options.rounds)
        ]
        times[name] = statistics.median(answer["backward_us"] for answer in answers) / 1e3
    command = [sys.executable, __file__, "--jax-chain"]
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    environment = dict(os.environ, JAX_PLATFORMS="cpu", XLA_FLAGS=flags)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    peer = float(done.stdout) if done.returncode == 0 else None
    return times["dense"], times["patterns"], peer


def measure(shape, contestants, part, options):
    """Returns medians of `part` for each (peer, threads) in milliseconds; None if a peer cannot
    run."""
    peers, repeats = {}, {}
    for name, threads in contestants:
        try:
            made = Worker(name, sys.executable, threads) if name == "jax" else None
            peers[name, threads] = made or Compiled(name, options.compiler, options.work)
        except (Unavailable, Failed):
            continue
    answers = {key: [] for key in peers}
    for turn in range(options.rounds + 1):
        for key, peer in list(peers.items()):
            try:
                answer = peer.measure(shape, key[1], repeats.get(key, 1), timeout=120)
            except Failed:
                peers.pop(key).close()
                continue
            repeats[key] = max(1, min(100, int(options.seconds * 1e6 / answer["step_us"])))
            if turn > 0:
                answers[key].append(answer[part] / 1e3)
    for peer in peers.values():
        peer.close()
    return [statistics.median(answers[key]) if key in peers else None for key in contestants]


def rows(options):
    """Yields (description, time without, time with the technique, time of JAX)."""
    yield ("convolutions pruned to 3 %, backward: dense / sparse", *measure_pruned_chain(options))
    long, short = (Shape("gru", 20, 12, 16, steps, every_step=True) for steps in (4000, 100))
    (start,) = measure(short, [("auto", 1)], "step_us", options)
    found, peer = measure(long, [("auto", 1), ("jax", 1)], "step_us", options)
    yield ("GRU H=20 B=16: 40 steps of T=100 / one of T=4000", 40 * start, found, peer)
    shape = Shape("gru", 128, 64, 32, 300)
    cores = len(os.sched_getaffinity(0))
    alone, together, peer = measure(
        shape, [("auto", 1), ("auto", cores), ("jax", cores)], "step_us", options
    )
    yield (f"{shape}: one thread / {cores}", alone, together, peer)
    shape = Shape("rnn", 4, 1, 1, 4096, every_step=True)
    contestants = [("sequential", 1), ("chunked", 1), ("jax", 1)]
    yield ("RNN H=4 B=1 T=4096, backward: sequential / scan", *measure(shape, contestants, "backward_us", options))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compiler", default=str(ROOT / "build/bin/bppsa-compile"))
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/benchmarks")
    parser.add_argument("--seconds", type=float, default=0.3, help="time of one turn (0.3)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jax-chain", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.jax_chain:
        print(jax_pruned_chain(repeat=20))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"{'':58} {'without':>9} {'with':>9} {'ratio':>6} {'JAX':>9} {'/ with':>6}")
    for what, without, found, peer in rows(options):
        beside = f"{peer:9.3g} {peer / found:6.2f}" if peer else f"{'-':>9} {'-':>6}"
        print(f"{what:58} {without:9.3g} {found:9.3g} {without / found:6.2f} {beside}", flush=True)


if __name__ == "__main__":
    main()
