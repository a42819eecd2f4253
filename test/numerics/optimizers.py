"""The update rules of torch.optim in NumPy float64, written from its documentation.

An optimizer maps (parameter, gradient, state, step) to the new parameter; step counts from 1 and
state is a dict that starts empty.
"""

import numpy as np


def sgd(p, g, state, step, lr, weight_decay):
    return p - lr * (g + weight_decay * p)


def momentum(p, g, state, step, lr, weight_decay, mu=0.9):
    g = g + weight_decay * p
    state["b"] = g if step == 1 else mu * state["b"] + g
    return p - lr * state["b"]


def adam_direction(g, state, step, beta1=0.9, beta2=0.999, eps=1e-8):
    state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g * g
    m = state["m"] / (1 - beta1**step)
    v = state["v"] / (1 - beta2**step)
    return m / (np.sqrt(v) + eps)


def adam(p, g, state, step, lr, weight_decay):
    return p - lr * adam_direction(g + weight_decay * p, state, step)


def adamw(p, g, state, step, lr, weight_decay):
    return p * (1 - lr * weight_decay) - lr * adam_direction(g, state, step)


def rmsprop(p, g, state, step, lr, weight_decay, alpha=0.99, eps=1e-8):
    g = g + weight_decay * p
    state["v"] = alpha * state.get("v", 0) + (1 - alpha) * g * g
    return p - lr * g / (np.sqrt(state["v"]) + eps)


ALL = {f.__name__: f for f in (sgd, momentum, adam, adamw, rmsprop)}


def clip(gradients, limit):
    """torch.nn.utils.clip_grad_norm_ over all gradients together."""
    norm = np.sqrt(sum(float(np.sum(g * g)) for g in gradients.values()))
    scale = min(1.0, limit / (norm + 1e-6))
    return {name: g * scale for name, g in gradients.items()}
