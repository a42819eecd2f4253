# Part of the bppsa project, under the MIT License.
"""Training steps of a recurrent classifier in PyTorch, and in JAX with time loops."""

import functools
import gc
import os
import statistics
import time

CLASSES = 10
CELLS = ("rnn", "gru", "lstm")
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
PEERS = ("pytorch", "jax-scan", "jax-assoc")
UNROLLS = (1, 4)


def features_of(cell, hidden):
    """Returns the number of input features for a hidden size."""
    if hidden >= 64:
        return 64
    return 1 if cell == "rnn" else 12


def flops(cell, hidden, batch, steps):
    """Returns twice the multiply-adds of a step, used as the cost that orders the points."""
    return 2 * steps * batch * GATES[cell] * hidden * (3 * hidden + 2 * features_of(cell, hidden))


def state_size(cell, hidden):
    return 2 * hidden if cell == "lstm" else hidden


class Missing(Exception):
    """A peer that cannot run here."""


# ----------------------------------------------------------------------------------------------
# Timing
# ----------------------------------------------------------------------------------------------


def repeats(first_us, seconds):
    """Returns how often to repeat a call, given its first time: `seconds` worth, 3 to 50 times."""
    if first_us > 5e6:
        return 1
    return max(3, min(50, int(seconds * 1e6 / max(first_us, 1.0))))


def median_time(call, wait, seconds):
    """Returns median microseconds of a call on the host clock, after a warm-up call."""

    def once():
        start = time.perf_counter()
        wait(call())
        return 1e6 * (time.perf_counter() - start)

    once()
    times = [once()]
    times += [once() for _ in range(repeats(times[0], seconds) - 1)]
    return statistics.median(times)


# ----------------------------------------------------------------------------------------------
# PyTorch
# ----------------------------------------------------------------------------------------------


class PyTorch:
    def __init__(self, device):
        try:
            import torch
        except ImportError as error:
            raise Missing(f"PyTorch is not installed ({error})") from None
        if device == "cuda" and not torch.cuda.is_available():
            raise Missing("PyTorch sees no GPU; --device=cpu rehearses without one")
        self.torch, self.device = torch, device
        if device == "cpu":
            torch.set_num_threads(1)

    def describe(self):
        torch = self.torch
        if self.device == "cpu":
            return {"pytorch": torch.__version__}
        return {
            "pytorch": torch.__version__,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "gpu": torch.cuda.get_device_name(),
        }

    def _model(self, point):
        torch = self.torch

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                layer = getattr(torch.nn, point["cell"].upper())
                self.layer = layer(features_of(point["cell"], point["hidden"]), point["hidden"])
                self.head = torch.nn.Linear(point["hidden"], CLASSES)

            def forward(self, x):
                return self.head(self.layer(x)[0][-1])

        torch.manual_seed(1)
        return Model().to(self.device)

    def _clock(self):
        """Returns (mark, elapsed).

        mark() records a point on the device timeline; elapsed(i) is the microseconds from mark i to
        i + 1.
        """
        torch, marks = self.torch, []
        if self.device == "cpu":
            return (
                lambda: marks.append(time.perf_counter()),
                lambda i: 1e6 * (marks[i + 1] - marks[i]),
            )

        def mark():
            marks.append(torch.cuda.Event(enable_timing=True))
            marks[-1].record()

        def elapsed(i):
            torch.cuda.synchronize()
            return 1e3 * marks[i].elapsed_time(marks[i + 1])

        return mark, elapsed

    def measure(self, point, tf32, seconds):
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.backends.cudnn.allow_tf32 = tf32
        model = self._model(point)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
        size = (point["steps"], point["batch"], features_of(point["cell"], point["hidden"]))
        x = torch.rand(size, device=self.device)
        target = torch.arange(point["batch"], device=self.device) % CLASSES
        if self.device == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()

        def step():
            mark, elapsed = self._clock()
            mark()
            loss = torch.nn.functional.cross_entropy(model(x), target)
            mark()
            optimizer.zero_grad()
            loss.backward()
            mark()
            optimizer.step()
            mark()
            return [elapsed(0), elapsed(1), elapsed(2)]

        step()
        times = [step()]
        times += [step() for _ in range(repeats(sum(times[0]), seconds) - 1)]
        forward, backward, update = (statistics.median(column) for column in zip(*times))
        memory = torch.cuda.max_memory_allocated() if self.device == "cuda" else None
        return {
            "forward_us": forward,
            "backward_us": backward,
            "update_us": update,
            "step_us": statistics.median(map(sum, times)),
            "peak_bytes": memory,
        }

    def release(self):
        gc.collect()
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


# ----------------------------------------------------------------------------------------------
# JAX
# ----------------------------------------------------------------------------------------------


def jax_cells(jnp, sigmoid):
    """Returns cells of one sample: cell(p, state, x) -> state; an LSTM's state is h, then c."""

    def rnn(p, h, x):
        return jnp.tanh(x @ p["w"] + h @ p["r"] + p["b"])

    def gru(p, h, x):
        given, kept = x @ p["w"] + p["b"], h @ p["r"]
        size = h.shape[-1]
        r = sigmoid(given[:size] + kept[:size])
        z = sigmoid(given[size : 2 * size] + kept[size : 2 * size])
        n = jnp.tanh(given[2 * size :] + r * (kept[2 * size :] + p["q"]))
        return n + z * (h - n)

    def lstm(p, state, x):
        h, c = jnp.split(state, 2)
        i, f, g, o = jnp.split(x @ p["w"] + h @ p["r"] + p["b"], 4)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        return jnp.concatenate([sigmoid(o) * jnp.tanh(c), c])

    return {"rnn": rnn, "gru": gru, "lstm": lstm}


def scan_layer(jax, cell, unroll):
    """Returns last(p, x, zero), the last state, differentiated by JAX."""
    over_batch = jax.vmap(cell, (None, 0, 0))

    def last(p, x, zero):
        def step(state, given):
            return over_batch(p, state, given), None

        return jax.lax.scan(step, zero, x, unroll=unroll)[0]

    return last


def associative_layer(jax, cell):
    """Returns last(p, x, zero), the last state, differentiated by an associative scan of
    Jacobians."""
    jnp = jax.numpy
    over_batch = jax.vmap(cell, (None, 0, 0))
    over_all = jax.vmap(over_batch, (None, 0, 0))
    jacobians = jax.vmap(jax.vmap(jax.jacrev(cell, argnums=1), (None, 0, 0)), (None, 0, 0))

    def run(p, x, zero):
        def step(state, given):
            state = over_batch(p, state, given)
            return state, state

        return jax.lax.scan(step, zero, x)

    @jax.custom_vjp
    def last(p, x, zero):
        return run(p, x, zero)[0]

    def forward(p, x, zero):
        final, states = run(p, x, zero)
        return final, (p, x, zero, states)

    def backward(saved, cotangent):
        p, x, zero, states = saved
        before = jnp.concatenate([zero[None], states[:-1]])
        # Products of the transposed Jacobians, from the last step to the second, propagate the
        # cotangent of the last state back.
        transposed = jnp.swapaxes(jacobians(p, before[1:], x[1:]), -1, -2)[::-1]
        products = jax.lax.associative_scan(lambda a, b: b @ a, transposed)
        carried = jnp.einsum("tbij,bj->tbi", products, cotangent)[::-1]
        cotangents = jnp.concatenate([carried, cotangent[None]])
        _, pull = jax.vjp(lambda p: over_all(p, before, x), p)
        return pull(cotangents)[0], jnp.zeros_like(x), jnp.zeros_like(zero)

    last.defvjp(forward, backward)
    return last


class Jax:
    """lax.scan, or associative_scan for the backward pass."""

    def __init__(self, device, associative):
        # Both libraries share the GPU, so neither may allocate all its memory.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        try:
            import jax
        except ImportError as error:
            raise Missing(f"JAX is not installed ({error})") from None
        try:
            self.jax_device = jax.devices("gpu" if device == "cuda" else "cpu")[0]
        except RuntimeError:
            raise Missing("JAX sees no GPU; --device=cpu rehearses without one") from None
        self.jax, self.associative = jax, associative
        jax.config.update("jax_default_device", self.jax_device)

    def describe(self):
        return {"jax": self.jax.__version__, "jax_device": self.jax_device.device_kind}

    def parameters(self, point):
        jnp, hidden = self.jax.numpy, point["hidden"]
        width = GATES[point["cell"]] * hidden
        shapes = {
            "w": (features_of(point["cell"], hidden), width),
            "r": (hidden, width),
            "b": (width,),
            "q": (hidden,),
            "head": (hidden, CLASSES),
            "head_b": (CLASSES,),
        }
        keys = self.jax.random.split(self.jax.random.key(1), len(shapes))
        bound = hidden**-0.5
        uniform = functools.partial(self.jax.random.uniform, minval=-bound, maxval=bound)
        return {n: uniform(k, s, jnp.float32) for (n, s), k in zip(shapes.items(), keys)}

    def loss(self, point, unroll):
        """Returns loss(p, x, target) of one shape."""
        jax, jnp = self.jax, self.jax.numpy
        cell = jax_cells(jnp, jax.nn.sigmoid)[point["cell"]]
        layer = associative_layer(jax, cell) if self.associative else scan_layer(jax, cell, unroll)

        def loss(p, x, target):
            zero = jnp.zeros((x.shape[1], state_size(point["cell"], point["hidden"])))
            hidden = layer(p, x, zero)[:, : point["hidden"]]
            scores = jax.nn.log_softmax(hidden @ p["head"] + p["head_b"])
            return -jnp.mean(jnp.take_along_axis(scores, target[:, None], 1))

        return loss

    def data(self, point):
        jax = self.jax
        size = (point["steps"], point["batch"], features_of(point["cell"], point["hidden"]))
        return jax.random.uniform(jax.random.key(2), size), jax.numpy.arange(size[1]) % CLASSES

    def _compile(self, point, unroll):
        """Returns functions without arguments for forward, gradient and step, and the bytes of a
        step."""
        jax, jnp = self.jax, self.jax.numpy
        p, (x, target) = self.parameters(point), self.data(point)
        moments = jax.tree_util.tree_map(jnp.zeros_like, p)
        loss = self.loss(point, unroll)
        gradient = jax.value_and_grad(loss)

        def step(p, m, v, x, target):
            value, g = gradient(p, x, target)
            tree = jax.tree_util.tree_map
            m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
            v = tree(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
            p = tree(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m, v)
            return value, p, m, v

        forward, gradient_call = jax.jit(loss), jax.jit(gradient)
        compiled = jax.jit(step).lower(p, moments, moments, x, target).compile()
        analysis = compiled.memory_analysis()
        parts = ("temp_size_in_bytes", "argument_size_in_bytes", "output_size_in_bytes")
        memory = sum(getattr(analysis, part) for part in parts) if analysis else None
        return (
            lambda: forward(p, x, target),
            lambda: gradient_call(p, x, target),
            lambda: compiled(p, moments, moments, x, target),
            memory,
        )

    def measure(self, point, tf32, seconds):
        jax = self.jax
        with jax.default_matmul_precision("tensorfloat32" if tf32 else "highest"):
            candidates = []
            for unroll in (1,) if self.associative else UNROLLS:
                compiled = self._compile(point, unroll)
                step = median_time(compiled[2], jax.block_until_ready, seconds)
                candidates.append((step, unroll, compiled))
            step, unroll, compiled = min(candidates, key=lambda candidate: candidate[0])
            forward = median_time(compiled[0], jax.block_until_ready, seconds)
            gradient = median_time(compiled[1], jax.block_until_ready, seconds)
        return {
            "forward_us": forward,
            "backward_us": gradient - forward,
            "update_us": max(0.0, step - gradient),
            "step_us": step,
            "peak_bytes": compiled[3],
            "unroll": unroll,
        }

    def release(self):
        gc.collect()
        self.jax.clear_caches()


def open_peer(name, device):
    return PyTorch(device) if name == "pytorch" else Jax(device, name == "jax-assoc")
