# Part of the bppsa project, under the MIT License.
"""``RNN``, ``GRU`` and ``LSTM`` with the signatures, parameters and behaviour of ``torch.nn``."""

import collections.abc
import functools
import typing

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from bppsa.errors import Error
from bppsa.torch.operators import call
from bppsa.vjp import Function

#: The PyTorch gate that corresponds to each ONNX gate.
_GATES = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2)}


@functools.lru_cache(maxsize=None)
def _layer(
    kind: str, features: int, units: int, directions: int, activation: str, lengths: bool
) -> Function:
    """Compiles one layer as a function of W, R, B, x, the states, and optional sample lengths."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    gates = len(_GATES[kind])
    shapes = {"W": (gates * units, features), "R": (gates * units, units), "B": (2 * gates * units,)}
    states = ["h0", "c0"] if kind == "LSTM" else ["h0"]
    finals = ["h", "c"] if kind == "LSTM" else ["h"]
    value = helper.make_tensor_value_info
    inputs = [value("x", TensorProto.FLOAT, ["T", "N", features])]
    inputs += [value("lengths", TensorProto.INT32, ["N"])] if lengths else []
    inputs += [value(state, TensorProto.FLOAT, [directions, "N", units]) for state in states]
    outputs = [value("y", TensorProto.FLOAT, ["T", directions, "N", units])]
    outputs += [value(final, TensorProto.FLOAT, [directions, "N", units]) for final in finals]
    attributes: dict[str, typing.Any] = {"hidden_size": units, "direction": "bidirectional" if directions == 2 else "forward"}
    if kind == "GRU":
        attributes["linear_before_reset"] = 1
    if kind == "RNN":
        attributes["activations"] = [activation] * directions
    names = ["x", "W", "R", "B", "lengths" if lengths else "", *states]
    node = helper.make_node(kind, names, ["y", *finals], name=kind.lower(), **attributes)
    # Random values, because exporters merge equal weights.
    weights = [
        numpy_helper.from_array(
            np.random.default_rng(i).normal(size=(directions, *shape)).astype(np.float32), name
        )
        for i, (name, shape) in enumerate(shapes.items())
    ]
    graph = helper.make_graph([node], kind, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return Function(model.SerializeToString())


def _find_key(*arguments: typing.Any) -> str:
    """Returns the key of the function `_layer(*arguments)`."""
    return _layer(*arguments).key


# torch.compile does not trace into this function and treats its result as a constant.
_compiler: typing.Any = torch.compiler
_key: collections.abc.Callable[..., str] = _compiler.assume_constant_result(_find_key)


class _Recurrent(nn.RNNBase):
    """The base of the layers; inherits parameters and ``extra_repr`` from ``torch.nn``."""

    kind: str

    def __init__(self, mode: str, *arguments: typing.Any, **settings: typing.Any):
        super().__init__(mode, *arguments, **settings)
        if self.proj_size:
            raise Error("proj_size is not supported; add an nn.Linear after the layer")
        if self.dropout:
            raise Error("dropout is not supported; use single layers with nn.Dropout in between")

    def _activation(self) -> str:
        return "Tanh"

    def _weights(self, layer: int) -> list[Tensor]:
        """Returns W, R and B in ONNX layout, stacked over directions."""

        def arrange(name: str) -> Tensor:
            found = []
            for suffix in ("", "_reverse")[: 2 if self.bidirectional else 1]:
                parts = getattr(self, f"{name}_l{layer}{suffix}").chunk(len(_GATES[self.kind]))
                found.append(torch.cat([parts[gate] for gate in _GATES[self.kind]]))
            return torch.stack(found)

        w, r = arrange("weight_ih"), arrange("weight_hh")
        if self.bias:
            return [w, r, torch.cat([arrange("bias_ih"), arrange("bias_hh")], dim=1)]
        return [w, r, w.new_zeros(w.shape[0], 2 * w.shape[1])]

    def _run(
        self, x: Tensor, lengths: Tensor | None, states: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Returns the sequences [T, N, ...] of the last layer and all final states."""
        directions = 2 if self.bidirectional else 1
        finals: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            features = self.input_size if layer == 0 else directions * self.hidden_size
            key = _key(
                self.kind, features, self.hidden_size, directions, self._activation(), lengths is not None
            )
            own = [s[layer * directions : (layer + 1) * directions].contiguous() for s in states]
            inputs = [x.contiguous(), *([] if lengths is None else [lengths]), *own]
            y, *last = call(key, self._weights(layer), inputs)
            x = y.transpose(1, 2).flatten(2)
            for found, state in zip(finals, last, strict=True):
                found.append(state)
        return x, [torch.cat(found) for found in finals]

    def _initial(self, given: list[Tensor], samples: int, like: Tensor) -> list[Tensor]:
        shape = (self.num_layers * (2 if self.bidirectional else 1), samples, self.hidden_size)
        if not given:
            return [like.new_zeros(shape) for _ in range(2 if self.kind == "LSTM" else 1)]
        for state in given:
            if tuple(state.shape) != shape:
                raise Error(f"an initial state must have the shape {shape}, found {tuple(state.shape)}")
        return given

    def _pack(self, y: Tensor, lengths: Tensor, like: PackedSequence) -> PackedSequence:
        """Packs sequences [T, N, ...] in the sample order of ``like``."""
        order = like.sorted_indices
        if order is not None:
            y, lengths = y.index_select(1, order), lengths[order]
        data = pack_padded_sequence(y, lengths.to(torch.int64)).data
        return PackedSequence(data, like.batch_sizes, order, like.unsorted_indices)

    def forward(self, input: typing.Any, hx: typing.Any = None) -> typing.Any:  # noqa: A002 (PyTorch's name)
        given = [] if hx is None else list(hx) if self.kind == "LSTM" else [hx]
        packed = input if isinstance(input, PackedSequence) else None
        lengths, batched = None, True
        if packed is not None:
            input, lengths = pad_packed_sequence(packed)
            lengths = lengths.to(torch.int32)
        else:
            if input.dim() not in (2, 3):
                raise Error(f"{self.kind} takes 2 or 3 axes, found {input.dim()}")
            batched = input.dim() == 3
            if not batched:
                input, given = input.unsqueeze(1), [state.unsqueeze(1) for state in given]
            elif self.batch_first:
                input = input.transpose(0, 1)
        if input.shape[2] != self.input_size:
            raise Error(f"{self.kind} takes {self.input_size} features, found {input.shape[2]}")
        if input.shape[0] == 0 or input.shape[1] == 0:
            raise Error(f"{self.kind} needs at least a step and a sample, found {tuple(input.shape)}")
        y: typing.Any
        y, finals = self._run(input, lengths, self._initial(given, input.shape[1], input))
        if packed is not None and lengths is not None:
            y = self._pack(y, lengths, packed)
        elif not batched:
            y, finals = y.squeeze(1), [state.squeeze(1) for state in finals]
        elif self.batch_first:
            y = y.transpose(0, 1)
        return y, tuple(finals) if self.kind == "LSTM" else finals[0]


class RNN(_Recurrent):
    """A compiled ``torch.nn.RNN``, without ``dropout`` and ``proj_size``."""

    kind = "RNN"

    def __init__(self, *arguments: typing.Any, **settings: typing.Any):
        # The fourth argument, as in torch.nn.
        nonlinearity = arguments[3] if len(arguments) > 3 else settings.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise Error(f"nonlinearity must be tanh or relu, found '{nonlinearity}'")
        super().__init__(f"RNN_{nonlinearity.upper()}", *arguments[:3], *arguments[4:], **settings)
        self.nonlinearity = nonlinearity

    def _activation(self) -> str:
        return str(self.nonlinearity).capitalize()


class GRU(_Recurrent):
    """A compiled ``torch.nn.GRU``, without ``dropout`` and ``proj_size``."""

    kind = "GRU"

    def __init__(self, *arguments: typing.Any, **settings: typing.Any):
        super().__init__("GRU", *arguments, **settings)


class LSTM(_Recurrent):
    """A compiled ``torch.nn.LSTM``, without ``dropout`` and ``proj_size``."""

    kind = "LSTM"

    def __init__(self, *arguments: typing.Any, **settings: typing.Any):
        super().__init__("LSTM", *arguments, **settings)
