"""Modules with buffers, and with tied, folded and unusual parameters, for compare_parameters.py."""

import math

import torch
from torch import nn
from torch.nn import functional


class Recurrent(nn.Module):
    """A recurrent layer and a linear head on every step."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(layer.hidden_size * (1 + layer.bidirectional), 3)

    def forward(self, x):
        return self.head(self.layer(x)[0])


class LearnedState(nn.Module):
    """A GRU whose initial states are a parameter."""

    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(1, 1, 5))
        self.layer = nn.GRU(4, 5, batch_first=True)

    def forward(self, x):
        return self.layer(x, self.start.expand(1, x.shape[0], 5).contiguous())[0]


class CellLoop(nn.Module):
    """A cell that is called in a Python loop over the steps."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        state, outputs = x.new_zeros(x.shape[0], 5), []
        for step in x.unbind(1):
            state = self.cell(step, state)
            outputs.append(self.head(state))
        return torch.stack(outputs, 1)


class CustomCell(nn.Module):
    """A leaky cell with one constant rate in a buffer and one learned rate."""

    def __init__(self):
        super().__init__()
        self.input = nn.Linear(4, 5)
        self.state = nn.Linear(5, 5, bias=False)
        self.rate = nn.Parameter(torch.full((5,), 0.3))
        self.register_buffer("leak", torch.tensor(0.5))

    def forward(self, x, state):
        gate = torch.sigmoid(self.rate) * self.leak
        return (1 - gate) * state + gate * torch.tanh(self.input(x) + self.state(state))


class TiedEmbedding(nn.Module):
    """An embedding that shares its matrix with the output layer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 6)
        self.layer = nn.LSTM(6, 6, batch_first=True)
        self.head = nn.Linear(6, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.layer(self.embedding(x))[0])


class SinusoidalPositions(nn.Module):
    """Positions in a buffer, one attention block, and a constant scale."""

    def __init__(self, steps=6, width=8):
        super().__init__()
        angles = torch.arange(steps)[:, None] * torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
        table = torch.zeros(steps, width)
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
        self.register_buffer("positions", table)
        self.register_buffer("mask", torch.triu(torch.full((steps, steps), float("-inf")), 1), persistent=False)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        x = x + self.positions
        scores = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        return torch.softmax(scores + self.mask, -1) @ self.value(x)


class LearnedPositions(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(1, 6, 8))
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)

    def forward(self, x):
        x = x + self.positions
        return self.layer(torch.cat([self.token.expand(x.shape[0], 1, 8), x], 1))[:, 0]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x):
        return self.layer(x, x.flip(1))


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.layer(x, x, x, need_weights=False)[0]


class Temperature(nn.Module):
    """A scalar parameter next to scalar constants."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.temperature = nn.Parameter(torch.tensor(0.07))

    def forward(self, x):
        return functional.softplus(self.layer(x) * 0.5, beta=2.0) / self.temperature.exp()


class Decay(nn.Module):
    """A diagonal recurrence whose rates are -exp of a parameter, written as a sum over time."""

    def __init__(self, steps=6):
        super().__init__()
        self.A_log = nn.Parameter(torch.linspace(-1, 1, 4))
        self.D = nn.Parameter(torch.ones(4))
        self.register_buffer("lags", torch.arange(steps, dtype=torch.float32))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        weights = torch.exp(-torch.exp(self.A_log) * self.lags[:, None]).flip(0)
        return self.head((x * weights).sum(1) + self.D * x[:, -1])


class Normalized(nn.Module):
    """Input normalization with statistics in buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("_mean", torch.tensor([0.3, -0.2, 1.0, 2.0]))
        self.register_buffer("_std", torch.tensor([1.3, 0.2, 1.0, 2.0]))
        self.layer = nn.GRU(4, 5, batch_first=True)

    def forward(self, x):
        return self.layer((x - self._mean) / (self._std + 1e-3))[0]


class LayerScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.block = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.gamma = nn.Parameter(1e-4 * torch.ones(8))

    def forward(self, x):
        return x + self.gamma * self.block(self.norm(x))


class SharedBlocks(nn.Module):
    """One layer that is called twice, and a list of parameters."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(6)) for _ in range(2)])

    def forward(self, x):
        for scale in self.scales:
            x = torch.tanh(self.layer(x)) * scale
        return x


class Squeeze(nn.Module):
    """Squeeze and excitation around a convolution."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.SiLU())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(6, 2, 1), nn.ReLU(), nn.Conv2d(2, 6, 1), nn.Sigmoid())

    def forward(self, x):
        x = self.layer(x)
        return (x * self.gate(x)).mean((2, 3))


class Pooling(nn.Module):
    """Attention over time with a learned query."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(4, 6, batch_first=True, bidirectional=True)
        self.query = nn.Parameter(torch.randn(12))
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        states = self.layer(x)[0]
        weights = torch.softmax(states @ self.query, 1)
        return self.head((weights[..., None] * states).sum(1))


class ConstantCell(nn.Module):
    """A cell with constants: a threshold of Softplus, a decay and a scale."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(4, 5, num_layers=2, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, x):
        weights = 0.9 ** torch.arange(x.shape[1] - 1, -1, -1, dtype=x.dtype)
        states = functional.softplus(self.layer(x)[0])
        return self.head((states * weights[None, :, None]).sum(1) / weights.sum()) * 0.125


class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Bilinear(4, 4, 3)

    def forward(self, x):
        return self.layer(x, torch.tanh(x))


class EmbeddingMean(nn.Module):
    """The mean of word embeddings, with a row for padding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4, padding_idx=0)
        self.norm = nn.LayerNorm(4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.norm(self.embedding(x).mean(1)))


def floats(*shape):
    return torch.randn(*shape)


def indices(limit, *shape):
    return torch.randint(0, limit, shape)


# name: (function that builds the module, function that builds its input)
MODULES = {
    "mlp_batch_norm": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)), lambda: floats(4, 4)),
    "conv_batch_norm": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)),
        lambda: floats(3, 3, 6, 6)),
    "two_batch_norms": (
        lambda: nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)), lambda: floats(4, 4)),
    "conv_transpose": (
        lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 2, stride=2), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1)),
        lambda: floats(2, 3, 4, 4)),
    "group_norm": (
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.GroupNorm(2, 4), nn.SiLU(), nn.Flatten(), nn.Linear(16, 3)),
        lambda: floats(3, 3, 6)),
    "instance_norm": (
        lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.InstanceNorm1d(4, affine=True), nn.Flatten(), nn.Linear(16, 3)),
        lambda: floats(3, 3, 6)),
    "rms_norm": (lambda: nn.Sequential(nn.Linear(4, 8), nn.RMSNorm(8), nn.Linear(8, 3)), lambda: floats(3, 4)),
    "prelu": (lambda: nn.Sequential(nn.Linear(4, 8), nn.PReLU(), nn.Linear(8, 3), nn.PReLU(3)), lambda: floats(3, 4)),
    "bilinear": (Bilinear, lambda: floats(3, 4)),
    "weight_norm": (
        lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), nn.Tanh(), nn.Linear(5, 2)),
        lambda: floats(3, 4)),
    "spectral_norm": (
        lambda: nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 5)), nn.Tanh(), nn.Linear(5, 2)),
        lambda: floats(3, 4)),
    "embedding_bag": (EmbeddingMean, lambda: indices(9, 3, 5)),
    "tied_embedding": (TiedEmbedding, lambda: indices(11, 3, 5)),
    "rnn": (lambda: Recurrent(nn.RNN(4, 5, batch_first=True)), lambda: floats(3, 6, 4)),
    "rnn_relu": (
        lambda: Recurrent(nn.RNN(4, 5, nonlinearity="relu", bidirectional=True, batch_first=True)), lambda: floats(3, 6, 4)),
    "gru_stack": (lambda: Recurrent(nn.GRU(4, 5, num_layers=2, batch_first=True)), lambda: floats(3, 6, 4)),
    "gru_no_bias": (lambda: Recurrent(nn.GRU(4, 5, bias=False, batch_first=True)), lambda: floats(3, 6, 4)),
    "lstm": (lambda: Recurrent(nn.LSTM(4, 5, batch_first=True)), lambda: floats(3, 6, 4)),
    "lstm_both": (lambda: Recurrent(nn.LSTM(4, 5, num_layers=2, bidirectional=True)), lambda: floats(6, 3, 4)),
    "learned_state": (LearnedState, lambda: floats(3, 6, 4)),
    "gru_cell": (lambda: CellLoop(nn.GRUCell(4, 5)), lambda: floats(3, 6, 4)),
    "custom_cell": (lambda: CellLoop(CustomCell()), lambda: floats(3, 6, 4)),
    "constant_cell": (ConstantCell, lambda: floats(3, 6, 4)),
    "pooling": (Pooling, lambda: floats(3, 6, 4)),
    "normalized": (Normalized, lambda: floats(3, 6, 4)),
    "decay": (Decay, lambda: floats(3, 6, 4)),
    "temperature": (Temperature, lambda: floats(3, 4)),
    "layer_scale": (LayerScale, lambda: floats(3, 6, 8)),
    "shared_blocks": (SharedBlocks, lambda: floats(3, 6)),
    "squeeze": (Squeeze, lambda: floats(3, 3, 6, 6)),
    "self_attention": (SelfAttention, lambda: floats(3, 6, 8)),
    "sinusoidal_positions": (SinusoidalPositions, lambda: floats(3, 6, 8)),
    "learned_positions": (LearnedPositions, lambda: floats(3, 6, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), lambda: floats(3, 6, 8)),
    "decoder": (Decoder, lambda: floats(3, 6, 8)),
}  # fmt: skip
