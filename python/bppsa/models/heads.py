# Part of the bppsa project, under the MIT License.
"""Adds auxiliary heads (outputs with separate losses) to an ONNX model, or removes them.

    python -m bppsa.models.heads model.onnx --list
    python -m bppsa.models.heads model.onnx --add early=/rnn/GRU_output_0 --width 10 --out with.onnx
    python -m bppsa.models.heads trained.onnx --remove --out without.onnx
"""

import argparse
import collections.abc
import difflib
import json
import os
import sys
import typing

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from bppsa.errors import Error

#: The metadata key under which a model lists the outputs that are heads.
KEY = "bppsa.heads"
POOLS = ("every", "last", "mean")
RECURRENT = ("RNN", "GRU", "LSTM")

Model = typing.Union[str, "os.PathLike[str]", onnx.ModelProto]
#: A number, a symbolic name or, if unknown, ``None`` for each axis.
Shape = list[typing.Any]


def candidates(model: Model) -> dict[str, Shape]:
    """Returns the tensors that a head can read, with their shapes.

    Candidates are float results of nodes with known rank and width. Each size is a number, a
    symbolic name or, if unknown, ``None``.
    """
    return {
        name: shape
        for name, shape in _activations(_open(model)).items()
        if shape
        and len(shape) > 1
        and (isinstance(shape[-1], int) or (len(shape) > 3 and isinstance(shape[1], int)))
    }


def add(
    model: Model,
    heads: collections.abc.Mapping[str, str],
    width: int,
    pool: typing.Optional[str] = None,
    seed: int = 0,
) -> onnx.ModelProto:
    """Returns a copy of ``model`` with linear heads of ``width`` outputs each.

    ``heads`` maps the name of each new output to the name of the tensor that its head reads.
    ``pool`` selects the input of the linear layer: ``"every"`` position (the last axis is the
    features), the ``"last"`` time step of a sequence, or the ``"mean"`` over all positions of each
    channel of an image. The default is ``"mean"`` for tensors with at least four axes and
    ``"every"`` for others. The directions of a recurrent layer are concatenated. Weights are
    initialized with ``seed``.
    """
    model = _copy(_open(model))
    opset = next((entry.version for entry in model.opset_import if entry.domain == ""), 0)
    if opset < 7:
        raise Error(f"heads need opset 7 or newer, found {opset}; convert the model")
    if width < 1 or pool not in (None, *POOLS):
        raise Error(
            f"heads need a width of at least 1 and a pool of {', '.join(POOLS)}, found {width} and {pool!r}"
        )
    rng = np.random.default_rng(seed)
    for name, tensor in heads.items():
        _Head(model, name, tensor).build(width, pool, rng)
    inferred = _infer(model)
    model.graph.output.extend(inferred[name] for name in heads)
    _set_heads(model, [*_get_heads(model), *heads])
    onnx.checker.check_model(model)
    return model


def remove(
    model: Model, names: typing.Optional[collections.abc.Sequence[str]] = None
) -> onnx.ModelProto:
    """Returns a copy of ``model`` without the outputs ``names`` and everything that only they need.

    By default, removes all heads added by ``add``.
    """
    model = _copy(_open(model))
    outputs = _names_of_outputs(model)
    if names is None:
        names = _get_heads(model)
        if not names:
            raise Error("the model has no heads added by bppsa.models.heads; name the outputs")
    for name in names:
        if name not in outputs:
            raise Error(f"the model has no output {name!r}, found {', '.join(outputs)}")
    kept = [name for name in outputs if name not in names]
    if not kept:
        raise Error(f"no output is left without {', '.join(names)}; keep an output")
    gone = _find_needed(model, names) - _find_needed(model, kept)
    graph = model.graph
    _drop(graph.output, lambda output: output.name in names)
    _drop(graph.node, lambda node: all(name in gone for name in node.output if name))
    gone -= {name for node in graph.node for name in node.output}
    gone -= {entry.name for entry in graph.input} - {entry.name for entry in graph.initializer}
    for entries in (graph.value_info, graph.initializer, graph.input):
        _drop(entries, lambda entry: entry.name in gone)
    _set_heads(model, [name for name in _get_heads(model) if name not in names])
    return model


class _Head:
    """Adds one head to a graph."""

    def __init__(self, model: onnx.ModelProto, name: str, tensor: str):
        self.graph, self.name, self.value = model.graph, name, tensor
        self.declares_inputs = model.ir_version < 4
        self.count = 0
        used = _all_names(model)
        self._refuse_if(name in used, "the model has this name already; choose another one")
        shapes, usable = _activations(model), candidates(model)
        if tensor not in usable:
            near = difflib.get_close_matches(tensor, usable, len(usable) or 1, 0)
            what = (
                f"the rank or the width of {tensor!r} is not known"
                if tensor in shapes
                else f"the model has no tensor {tensor!r} of floats that depends on its inputs"
            )
            self._refuse_if(True, f"{what}; candidates: {', '.join(near) or 'none'}")
        self.shape = usable[tensor]
        self.producer = next(node for node in self.graph.node if tensor in node.output)

    def build(self, width: int, pool: typing.Optional[str], rng: np.random.Generator) -> None:
        steps = self._join_directions()
        if pool is None:
            pool = "mean" if len(self.shape) > 3 else "every"
        if pool == "mean":
            is_image = len(self.shape) > 2 and steps is None and isinstance(self.shape[1], int)
            self._refuse_if(
                not is_image,
                f"a mean is that of images [N, channels, ...], found {self._found()}",
            )
            self._node("GlobalAveragePool", [self.value])
            self._node("Flatten", [self.value])
            self.shape = self.shape[:2]
        elif pool == "last":
            self._refuse_if(
                len(self.shape) != 3, f"a last step is that of [T, N, features], found {self._found()}"
            )
            last = self._constant("last", np.array(-1, np.int64))
            self._node("Gather", [self.value, last], axis=steps or 0)
            del self.shape[steps or 0]
        features = self.shape[-1]
        self._refuse_if(not isinstance(features, int), f"the width is not known of {self._found()}")
        bound = 1 / np.sqrt(features)
        weight = rng.uniform(-bound, bound, (features, width)).astype(np.float32)
        bias = rng.uniform(-bound, bound, width).astype(np.float32)
        self._node("MatMul", [self.value, self._constant("weight", weight)])
        inputs = [self.value, self._constant("bias", bias)]
        self.graph.node.append(
            helper.make_node("Add", inputs, [self.name], name=f"{self.name}/Add")
        )

    def _join_directions(self) -> typing.Optional[int]:
        """Reshapes the output of a recurrent node to [..., directions * hidden].

        Returns the axis of time steps; None if the value is not a sequence.
        """
        if self.producer.op_type not in RECURRENT:
            return None
        is_sequence = self.value == self.producer.output[0]
        layout = next((a.i for a in self.producer.attribute if a.name == "layout"), 0)
        if not layout:
            axis = int(is_sequence)
            order = [i for i in range(len(self.shape)) if i != axis]
            order.insert(-1, axis)
            self._node("Transpose", [self.value], perm=order)
            self.shape = [self.shape[i] for i in order]
        directions, hidden = self.shape[-2:]
        is_known = isinstance(directions, int) and isinstance(hidden, int)
        self._refuse_if(not is_known, f"the width is not known of {self._found()}")
        joined = [0] * (len(self.shape) - 2) + [directions * hidden]
        self._node("Reshape", [self.value, self._constant("shape", np.array(joined, np.int64))])
        self.shape = [*self.shape[:-2], directions * hidden]
        return layout if is_sequence else None

    def _constant(self, part: str, value: np.ndarray) -> str:
        name = f"{self.name}.{part}"
        tensor = numpy_helper.from_array(value, name)
        self.graph.initializer.append(tensor)
        if self.declares_inputs:
            self.graph.input.append(
                helper.make_tensor_value_info(name, tensor.data_type, value.shape)
            )
        return name

    def _node(self, op: str, inputs: list[str], **attributes: typing.Any) -> None:
        self.value = f"{self.name}/{op}_output"
        self.graph.node.append(
            helper.make_node(op, inputs, [self.value], name=f"{self.name}/{op}", **attributes)
        )

    def _found(self) -> str:
        return _text(self.shape)

    def _refuse_if(self, condition: bool, text: str) -> None:
        if condition:
            raise Error(f"head {self.name!r}: {text}")


def _open(model: Model) -> onnx.ModelProto:
    if isinstance(model, onnx.ModelProto):
        return model
    try:
        return onnx.load(os.fspath(model))
    except (OSError, DecodeError) as error:
        raise Error(f"{os.fspath(model)}: is not a readable ONNX model ({error})") from None


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _infer(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    graph = onnx.shape_inference.infer_shapes(model).graph
    return {info.name: info for info in (*graph.value_info, *graph.output)}


def _activations(model: onnx.ModelProto) -> dict[str, typing.Optional[Shape]]:
    """Returns the shapes of float tensors that depend on inputs; ``None`` if the rank is unknown.
    """
    graph, infos = model.graph, _infer(model)
    reached = {entry.name for entry in graph.input} - {entry.name for entry in graph.initializer}
    shapes: dict[str, typing.Optional[Shape]] = {}
    for node in graph.node:
        if reached.isdisjoint(_names_read(node)):
            continue
        reached.update(name for name in node.output if name)
        for name in filter(None, node.output):
            tensor = infos[name].type.tensor_type if name in infos else onnx.TypeProto.Tensor()
            if tensor.elem_type not in (TensorProto.UNDEFINED, TensorProto.FLOAT):
                continue
            has_rank = tensor.elem_type == TensorProto.FLOAT and tensor.HasField("shape")
            shapes[name] = [_size(dim) for dim in tensor.shape.dim] if has_rank else None
    return shapes


def _size(dim: onnx.TensorShapeProto.Dimension) -> typing.Union[int, str, None]:
    return dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None


def _text(shape: Shape) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _names_read(node: onnx.NodeProto) -> set[str]:
    """Returns the names that a node reads, including in its subgraphs."""
    names = set(filter(None, node.input))
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            names.update(output.name for output in graph.output)
            for inner in graph.node:
                names |= _names_read(inner)
    return names


def _find_needed(model: onnx.ModelProto, outputs: collections.abc.Iterable[str]) -> set[str]:
    needed = set(outputs)
    for node in reversed(model.graph.node):
        if not needed.isdisjoint(node.output):
            needed |= _names_read(node)
    return needed


def _all_names(model: onnx.ModelProto) -> set[str]:
    graph = model.graph
    names = {entry.name for entry in (*graph.input, *graph.initializer, *graph.output)}
    return names.union(*(node.output for node in graph.node), *map(_names_read, graph.node))


def _names_of_outputs(model: onnx.ModelProto) -> list[str]:
    return [output.name for output in model.graph.output]


def _get_heads(model: onnx.ModelProto) -> list[str]:
    return next((json.loads(entry.value) for entry in model.metadata_props if entry.key == KEY), [])


def _set_heads(model: onnx.ModelProto, names: list[str]) -> None:
    _drop(model.metadata_props, lambda entry: entry.key == KEY)
    if names:
        model.metadata_props.add(key=KEY, value=json.dumps(names))


def _drop(entries: typing.Any, is_gone: collections.abc.Callable[[typing.Any], bool]) -> None:
    for entry in [entry for entry in entries if is_gone(entry)]:
        entries.remove(entry)


def _parser() -> argparse.ArgumentParser:
    summary, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m bppsa.models.heads",
        description=summary,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="the ONNX model")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="list the tensors that heads can read")
    what.add_argument(
        "--add", action="append", metavar="NAME=TENSOR", help="add the output NAME, a head on TENSOR"
    )
    what.add_argument(
        "--remove", nargs="*", metavar="NAME", help="remove these heads (default: all added heads)"
    )
    parser.add_argument("--width", type=int, help="outputs of each head, such as classes")
    parser.add_argument("--pool", choices=POOLS, help="pooling before a head (default: depends on the rank)")
    parser.add_argument("--seed", type=int, default=0, help="of the heads' weights (default 0)")
    parser.add_argument("--out", help="the file to write")
    return parser


def main(arguments: typing.Optional[list[str]] = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if not options.list and (not options.out or (options.add and options.width is None)):
        parser.error("--add needs --width and --out, --remove needs --out")
    if any("=" not in entry for entry in options.add or ()):
        parser.error("--add needs NAME=TENSOR")
    try:
        if options.list:
            for name, shape in candidates(options.model).items():
                print(f"{name}  {_text(shape)}")
            return 0
        if options.add:
            heads = dict(entry.partition("=")[::2] for entry in options.add)
            model = add(options.model, heads, options.width, options.pool, options.seed)
        else:
            model = remove(options.model, options.remove or None)
        with open(options.out, "wb") as file:
            file.write(model.SerializeToString(deterministic=True))
    except (Error, OSError) as error:
        print(f"bppsa.models.heads: {error}", file=sys.stderr)
        return 1
    print(f"{options.out}: outputs {', '.join(_names_of_outputs(model))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
