"""Typical PyTorch networks for export_zoo.py."""

import torch
from torch import nn
from torch.nn import functional


class MLP(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 16), nn.LeakyReLU(0.1), nn.Linear(16, 4))


class CharLM(nn.Module):
    """Embedding, two LSTM layers and dropout with p = 0."""

    def __init__(self, symbols=16, hidden=20):
        super().__init__()
        self.embedding = nn.Embedding(symbols, 10)
        self.dropout = nn.Dropout(0.0)
        self.lstm = nn.LSTM(10, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, symbols)

    def forward(self, tokens):
        y, _ = self.lstm(self.dropout(self.embedding(tokens)))
        return self.head(self.dropout(y))


class BiGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 10, batch_first=True, bidirectional=True)
        self.head = nn.Linear(20, 4)


class BiGRUAttention(BiGRU):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(20, 8)
        self.score = nn.Linear(8, 1, bias=False)

    def forward(self, x):
        y, _ = self.gru(x)
        weights = torch.softmax(self.score(torch.tanh(self.project(y))), dim=1)
        return self.head((weights * y).sum(dim=1))


class BiGRUMax(BiGRU):
    """A bidirectional GRU with the maximum over time."""

    def forward(self, x):
        return self.head(self.gru(x)[0].max(dim=1).values)


class PackedGRU(BiGRU):
    """A bidirectional GRU with the mean over time of packed sequences, longest first."""

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        y, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.head(y.sum(dim=1) / lengths.unsqueeze(-1))


class Seq2Seq(nn.Module):
    """A decoder with teacher forcing and attention to the encoder's states."""

    def __init__(self, symbols=12, hidden=16):
        super().__init__()
        self.source = nn.Embedding(symbols, 8)
        self.target = nn.Embedding(symbols, 8)
        self.encoder = nn.GRU(8, hidden, batch_first=True)
        self.decoder = nn.GRU(8, hidden, batch_first=True)
        self.head = nn.Linear(2 * hidden, symbols)

    def forward(self, source, previous):
        memory, state = self.encoder(self.source(source))
        y, _ = self.decoder(self.target(previous), state)
        weights = torch.softmax(torch.bmm(y, memory.transpose(1, 2)), dim=-1)
        return self.head(torch.cat([y, torch.bmm(weights, memory)], dim=-1))


class LoopDecoder(nn.Module):
    """A cell in a Python loop that reads its own output."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.GRU(5, 12, batch_first=True)
        self.cell = nn.GRUCell(3, 12)
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        _, h = self.encoder(x)
        h, y, outputs = h[0], x[:, -1, :3], []
        for _ in range(6):
            h = self.cell(y, h)
            y = self.head(h)
            outputs.append(y)
        return torch.stack(outputs, dim=1)


class CRNN(nn.Module):
    """Text recognition: convolutions with batch normalization, then a GRU over columns."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d((2, 1)),
        )  # fmt: skip
        self.gru = nn.GRU(16, 12, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 5)

    def forward(self, image):
        y = self.features(image)
        y = y.permute(0, 3, 1, 2).flatten(2)
        return self.head(self.gru(y)[0])


def depthwise(inputs, outputs, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, inputs, 3, stride=stride, padding=1, groups=inputs, bias=False),
        nn.BatchNorm2d(inputs), nn.ReLU6(),
        nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6(),
    )  # fmt: skip


class KeywordSpotter(nn.Module):
    """A frozen filter bank before depthwise separable convolutions."""

    def __init__(self):
        super().__init__()
        self.frontend = nn.Conv1d(1, 8, 8, stride=4, bias=False)
        self.blocks = nn.Sequential(depthwise(1, 6, 2), depthwise(6, 10))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(10, 4)

    def forward(self, wave):
        y = torch.log1p(self.frontend(wave.unsqueeze(1)).abs()).unsqueeze(1)
        return self.head(self.pool(self.blocks(y)).flatten(1))


class TransformerClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(6, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.encoder(self.inputs(x)).mean(dim=1))


class MaskedTransformer(nn.Module):
    """Padding is excluded from the keys and from the mean."""

    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(6, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x, padding):
        states = self.encoder(self.inputs(x), src_key_padding_mask=padding)
        states = self.attention(states, states, states, key_padding_mask=padding)[0]
        kept = (~padding).to(states.dtype).unsqueeze(-1)
        return self.head((states * kept).sum(dim=1) / kept.sum(dim=1))


class CausalTransformer(nn.Module):
    """Learned positions and a causal mask."""

    def __init__(self, symbols=16):
        super().__init__()
        self.embedding = nn.Embedding(symbols, 16)
        self.positions = nn.Parameter(0.1 * torch.randn(1, 12, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 16, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, symbols)

    def forward(self, tokens):
        steps = tokens.shape[1]
        mask = torch.triu(torch.full((steps, steps), float("-inf")), diagonal=1).to(self.positions.dtype)
        y = self.embedding(tokens) + self.positions[:, :steps]
        return self.head(self.encoder(y, mask=mask, is_causal=True))


class TemporalBlock(nn.Module):
    def __init__(self, inputs, outputs, dilation):
        super().__init__()
        self.padding = 2 * dilation
        self.first = nn.Conv1d(inputs, outputs, 3, dilation=dilation)
        self.second = nn.Conv1d(outputs, outputs, 3, dilation=dilation)
        self.shortcut = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        y = torch.relu(self.first(functional.pad(x, (self.padding, 0))))
        y = torch.relu(self.second(functional.pad(y, (self.padding, 0))))
        return torch.relu(y + self.shortcut(x))


class TCN(nn.Module):
    """Dilated causal convolutions with residual connections."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(TemporalBlock(i, 8, d) for i, d in ((3, 1), (8, 2), (8, 4))))
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.blocks(x.transpose(1, 2)).transpose(1, 2))


def double_convolution(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    """Skip connections around two levels; Resize performs the upsampling."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([double_convolution(1, 4), double_convolution(4, 6)])
        self.bottom = double_convolution(6, 8)
        self.up = nn.ModuleList([double_convolution(14, 6), double_convolution(10, 4)])
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.bottom(x)
        for block, skip, mode in zip(self.up, reversed(skips), ("nearest", "bilinear")):
            x = functional.interpolate(x, scale_factor=2, mode=mode)
            x = block(torch.cat([x, skip], dim=1))
        return self.head(x)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 6, 3, stride=2, padding=1), nn.ELU(), nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.ELU(),
            nn.Flatten(), nn.Linear(8 * 9, 10),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(10, 8 * 9), nn.ELU(), nn.Unflatten(1, (8, 3, 3)),
            nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1), nn.ELU(),
            nn.ConvTranspose2d(6, 1, 3, stride=2, padding=1, output_padding=1), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Siamese(nn.Module):
    """One encoder for both inputs."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 8))
        self.head = nn.Linear(9, 1)

    def forward(self, a, b):
        a, b = self.encoder(a), self.encoder(b)
        similarity = functional.cosine_similarity(a, b, dim=-1).unsqueeze(-1)
        return self.head(torch.cat([(a - b).abs(), similarity], dim=-1))


class ResidualBlock(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.layers = nn.Sequential(nn.Linear(size, 2 * size), nn.SiLU(), nn.Linear(2 * size, size))

    def forward(self, x):
        return x + self.layers(self.norm(x))


class Forecaster(nn.Module):
    """The input series is normalized, and the forecast is scaled back."""

    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(24, 16)
        self.blocks = nn.Sequential(ResidualBlock(16), ResidualBlock(16))
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 6)

    def forward(self, series):
        mean = series.mean(dim=1, keepdim=True)
        deviation = series.std(dim=1, keepdim=True, unbiased=False) + 1e-3
        y = self.blocks(self.inputs((series - mean) / deviation))
        return self.head(self.norm(y)) * deviation + mean


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4), nn.ReLU())
        self.blocks = nn.Sequential(BasicBlock(4, 4, 1), BasicBlock(4, 8, 2))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        y = functional.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1)
        return self.head(torch.flatten(y, 1))


class TextCNN(nn.Module):
    """Convolutions of several widths with maxima over time."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.windows = nn.ModuleList([nn.Conv1d(8, 6, width) for width in (2, 3, 4)])
        self.head = nn.Linear(18, 3)

    def forward(self, tokens):
        y = self.embedding(tokens).transpose(1, 2)
        return self.head(torch.cat([torch.relu(w(y)).amax(dim=-1) for w in self.windows], dim=1))


class Recommender(nn.Module):
    """Dot products of user and item embeddings, with biases."""

    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(30, 8), nn.Embedding(20, 8)
        self.user_bias, self.item_bias = nn.Embedding(30, 1), nn.Embedding(20, 1)

    def forward(self, user, item):
        product = (self.users(user) * self.items(item)).sum(dim=-1)
        return product + self.user_bias(user).squeeze(-1) + self.item_bias(item).squeeze(-1)


class GatedConvolutions(nn.Module):
    """Gated dilated convolutions as in WaveNet, with a weight for each skip connection."""

    def __init__(self):
        super().__init__()
        self.inputs = nn.Conv1d(2, 8, 1)
        self.gates = nn.ModuleList([nn.Conv1d(8, 16, 3, padding=d, dilation=d) for d in (1, 2)])
        self.skips = nn.ModuleList([nn.Conv1d(8, 8, 1) for _ in range(2)])
        self.norm = nn.GroupNorm(2, 8)
        self.head = nn.Conv1d(8, 1, 1)

    def forward(self, x):
        x, total = self.inputs(x), 0
        for gate, skip in zip(self.gates, self.skips):
            y = functional.glu(gate(x), dim=1)
            total = total + skip(y)
            x = x + y
        return self.head(functional.silu(self.norm(total)))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, padding_mode="reflect"), nn.InstanceNorm2d(8, affine=True), nn.PReLU(),
            nn.Conv2d(8, 4, 3, padding=1), nn.PixelShuffle(2),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x) + functional.interpolate(x, scale_factor=2, mode="nearest")
