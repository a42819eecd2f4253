# Part of the bppsa project, under the MIT License.
"""PyTorch modules of the benchmark: one frame of a speech enhancer, and a GRU over ragged batches.

`Enhancer` has the components of GTCRN: convolutions over bands, grouped convolutions in time whose
caches are states, attention over channels by a GRU, and recurrences over bands and over frames in
two groups, with 14 GRUs and 18,000 state values. It is an independent, simplified implementation.
"""

import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

BANDS = 33
DILATIONS = (1, 2, 5, 5, 2, 1)


class Attention(nn.Module):
    """Scales channels by a function of their power, computed by a GRU over frames."""

    def __init__(self, channels):
        super().__init__()
        self.gru = nn.GRU(channels, 2 * channels, batch_first=True)
        self.linear = nn.Linear(2 * channels, channels)

    def forward(self, x, state):  # [N, C, 1, F], [1, N, 2 C]
        power = (x * x).mean(-1).transpose(1, 2)
        found, state = self.gru(power, state)
        return x * torch.sigmoid(self.linear(found)).transpose(1, 2).unsqueeze(-1), state


class Block(nn.Module):
    """A convolution over three frames, `dilation` apart, on half of the channels."""

    def __init__(self, dilation):
        super().__init__()
        self.enter, self.leave = nn.Conv2d(8, 16, 1), nn.Conv2d(16, 8, 1)
        self.depthwise = nn.Conv2d(
            16, 16, (3, 3), padding=(0, 1), dilation=(dilation, 1), groups=16
        )
        self.first, self.second = nn.PReLU(), nn.PReLU()
        self.attention = Attention(8)

    def forward(self, x, cache, state):  # cache: [N, 16, 2 dilation, F]
        window = torch.cat([cache, self.first(self.enter(x[:, :8]))], 2)
        y = self.leave(self.second(self.depthwise(window)))
        y, state = self.attention(y, state)
        y = torch.stack([y, x[:, 8:]], 2).reshape(x.shape[0], 16, 1, x.shape[3])
        return y, window[:, :, 1:], state


class Grouped(nn.Module):
    """A GRU for each half of the channels."""

    def __init__(self, inputs, hidden, bidirectional):
        super().__init__()
        sizes = dict(batch_first=True, bidirectional=bidirectional)
        self.low = nn.GRU(inputs // 2, hidden // 2, **sizes)
        self.high = nn.GRU(inputs // 2, hidden // 2, **sizes)

    def forward(self, x, state=None):
        low, high = x.chunk(2, -1)
        if state is None:
            return torch.cat([self.low(low)[0], self.high(high)[0]], -1), None
        first, second = (part.contiguous() for part in state.chunk(2, -1))
        low, first = self.low(low, first)
        high, second = self.high(high, second)
        return torch.cat([low, high], -1), torch.cat([first, second], -1)


class DualPath(nn.Module):
    """Recurrences over the bands of a frame, then over the frames of each band."""

    def __init__(self):
        super().__init__()
        self.intra, self.inter = Grouped(16, 8, True), Grouped(16, 16, False)
        self.linears = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16)])
        self.norms = nn.ModuleList([nn.LayerNorm((BANDS, 16)), nn.LayerNorm((BANDS, 16))])

    def forward(self, x, state):  # [N, 16, 1, F], [N, F, 16]
        samples = x.shape[0]
        z = x.permute(0, 2, 3, 1).reshape(samples, BANDS, 16)
        z = z + self.norms[0](self.linears[0](self.intra(z)[0]))
        rows = samples * BANDS
        y, state = self.inter(z.reshape(rows, 1, 16), state.reshape(1, rows, 16))
        z = z + self.norms[1](self.linears[1](y.reshape(samples, BANDS, 16)))
        back = z.reshape(samples, 1, BANDS, 16).permute(0, 3, 1, 2)
        return back, state.reshape(samples, BANDS, 16)


class Enhancer(nn.Module):
    """Maps [N, 2, 1, 129] and states to [N, 2, 1, 66] and the next states."""

    def __init__(self):
        super().__init__()
        wide = dict(kernel_size=(1, 5), padding=(0, 2))
        self.encoder = nn.ModuleList(
            [nn.Conv2d(2, 16, stride=(1, 2), **wide), nn.Conv2d(16, 16, stride=(1, 2), groups=2, **wide)]
        )
        self.blocks = nn.ModuleList(Block(dilation) for dilation in DILATIONS)
        self.paths = nn.ModuleList([DualPath(), DualPath()])
        self.decoder = nn.ModuleList([nn.Conv2d(16, 32, **wide), nn.Conv2d(16, 2, **wide)])
        self.slope = nn.PReLU()

    def forward(self, x, *states):
        caches, memories, paths = list(states[:6]), list(states[6:12]), list(states[12:])
        y = x
        for layer in self.encoder:
            y = self.slope(layer(y))
        skip = y
        for i, block in enumerate(self.blocks):
            if i == 3:
                for j, path in enumerate(self.paths):
                    y, paths[j] = path(y, paths[j])
                y = y + skip
            y, caches[i], memories[i] = block(y, caches[i], memories[i])
        y = self.slope(self.decoder[0](y))
        y = y.reshape(-1, 16, 2, 1, BANDS).permute(0, 1, 3, 4, 2).reshape(-1, 16, 1, 2 * BANDS)
        return (torch.tanh(self.decoder[1](y)), *caches, *memories, *paths)


def zero_states(samples):
    caches = [torch.zeros(samples, 16, 2 * dilation, BANDS) for dilation in DILATIONS]
    memories = [torch.zeros(1, samples, 16) for _ in DILATIONS]
    return caches + memories + [torch.zeros(samples, BANDS, 16) for _ in range(2)]


def export_enhancer(module, path):
    """Writes the step graph; returns the pairs of `--carry`."""
    states = zero_states(1)
    names = [f"s{i}" for i in range(len(states))]
    torch.onnx.export(
        module,
        (torch.randn(1, 2, 1, 129), *states),
        str(path),
        input_names=["x", *names],
        output_names=["y", *(f"{name}_next" for name in names)],
        opset_version=17,
        dynamo=False,
    )
    return ",".join(f"{name}:{name}_next" for name in names)


class RaggedGRU(nn.Module):
    """Classifies sequences [T, B, 64] of different lengths into ten classes by the last state."""

    def __init__(self, hidden=64):
        super().__init__()
        self.gru = nn.GRU(64, hidden)
        self.linear = nn.Linear(hidden, 10)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        return self.linear(self.gru(packed)[1][0])


def export_ragged(module, path):
    """Writes the model node by node; PyTorch cannot export packed sequences in arbitrary order."""

    def gates(tensor):
        reset, update, new = tensor.detach().chunk(3)
        return torch.cat([update, reset, new])

    gru = module.gru
    tensors = {
        "w": gates(gru.weight_ih_l0).unsqueeze(0),
        "r": gates(gru.weight_hh_l0).unsqueeze(0),
        "b": torch.cat([gates(gru.bias_ih_l0), gates(gru.bias_hh_l0)]).unsqueeze(0),
        "linear.weight": module.linear.weight.detach(),
        "linear.bias": module.linear.bias.detach(),
        "first": torch.tensor([0]),
    }
    nodes = [
        helper.make_node(
            "GRU",
            ["x", "w", "r", "b", "lengths"],
            ["", "state"],
            hidden_size=gru.hidden_size,
            linear_before_reset=1,
        ),
        helper.make_node("Squeeze", ["state", "first"], ["last"]),
        helper.make_node("Gemm", ["last", "linear.weight", "linear.bias"], ["y"], transB=1),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", gru.input_size]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["B"]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", 10])]
    weights = [numpy_helper.from_array(t.numpy(), name) for name, t in tensors.items()]
    graph = helper.make_graph(nodes, "ragged", inputs, outputs, weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
