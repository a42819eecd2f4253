# Part of the bppsa project, under the MIT License.
"""The grid of benchmark shapes, and the bars: performance targets for releases."""

from dataclasses import dataclass

CLASSES = 10
CELLS = ("rnn", "gru", "lstm")
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
# Sigmoids and hyperbolic tangents per unit and step.
FUNCTIONS = {"rnn": 1, "gru": 3, "lstm": 5}


@dataclass(frozen=True)
class Shape:
    """Recurrent layers with a classifier of CLASSES outputs on the last state of the last layer.

    With `every_step`, the classifier and the loss use the state of each step.
    """

    cell: str
    hidden: int
    features: int
    batch: int
    steps: int
    layers: int = 1
    directions: int = 1
    every_step: bool = False

    def __str__(self):
        stack = f" {self.layers} layers" if self.layers > 1 else ""
        both = " bidirectional" if self.directions > 1 else ""
        sizes = f"H={self.hidden} I={self.features} B={self.batch} T={self.steps}"
        losses = ", loss on every step" if self.every_step else ""
        return f"{self.cell.upper()}{stack}{both} {sizes}{losses}"

    def is_plain(self):
        """Returns whether there is one unidirectional layer with a loss on the last state."""
        return self.layers == 1 and self.directions == 1 and not self.every_step

    def features_of_layer(self, layer):
        """Returns the number of input features of layer `layer`."""
        return self.features if layer == 0 else self.directions * self.hidden

    def flops(self):
        """Returns the FLOPs of a training step: forward, chain and weight gradients.

        The classifier is counted only if it runs on every step.
        """
        inner = self.directions * GATES[self.cell] * self.hidden
        columns = sum(
            3 * self.hidden + (2 if layer == 0 else 3) * self.features_of_layer(layer)
            for layer in range(self.layers)
        )
        classifier = 3 * CLASSES * self.directions * self.hidden if self.every_step else 0
        return 2 * self.steps * self.batch * (inner * columns + classifier)

    def functions(self):
        """Returns the number of exponentials and functions based on one in a training step."""
        units = self.layers * self.directions * self.hidden
        classes = CLASSES if self.every_step else 0
        return self.steps * self.batch * (FUNCTIONS[self.cell] * units + classes)


@dataclass(frozen=True)
class Bar:
    """Our whole training step is at least `ratio` times as fast as `peer` on one thread."""

    shape: Shape
    peer: str
    ratio: float
    source: str

    def __str__(self):
        return f"{self.shape}: >= {self.ratio:g}x {self.peer}"


def features_of(cell, hidden):
    """Returns the input features for a hidden size: the paper's at 20, round numbers above."""
    if hidden <= 20:
        return 1 if cell == "rnn" else 12
    return 256 if hidden == 256 else 64


def grid(cells=CELLS, hidden=(20, 64, 128, 256), batch=(1, 16, 64), steps=(100, 1000, 10000)):
    return [
        Shape(cell, h, features_of(cell, h), b, t)
        for cell in cells
        for h in hidden
        for b in batch
        for t in steps
    ]


QUICK = [
    Shape("rnn", 20, 1, 16, 1000),
    Shape("gru", 20, 12, 16, 1000),
    Shape("lstm", 20, 12, 16, 1000),
    Shape("rnn", 20, 1, 1, 1000),
    Shape("gru", 64, 64, 16, 100),
]

SMOKE = [Shape("rnn", 4, 1, 1, 5), Shape("gru", 4, 3, 16, 5), Shape("lstm", 4, 3, 1, 5)]

_RNN20, _GRU20 = Shape("rnn", 20, 1, 16, 1000), Shape("gru", 20, 12, 16, 1000)
_LSTM20 = Shape("lstm", 20, 12, 16, 1000)
_RNN128, _GRU128 = Shape("rnn", 128, 64, 16, 1000), Shape("gru", 128, 64, 16, 1000)
_LSTM128, _GRU256 = Shape("lstm", 128, 64, 16, 1000), Shape("gru", 256, 256, 64, 300)

# "slice" bars are required for the first CPU release; "design" bars are long-term goals.
BARS = [
    Bar(_RNN20, "pytorch", 30, "slice"),
    Bar(_RNN20, "jax", 5, "slice"),
    Bar(_GRU20, "pytorch", 30, "slice"),
    Bar(_GRU20, "jax", 5, "slice"),
    Bar(_GRU128, "pytorch", 4, "slice"),
    Bar(_GRU128, "jax", 2, "slice"),
    Bar(_RNN20, "pytorch", 50, "design"),
    Bar(_RNN20, "jax", 7, "design"),
    Bar(_GRU20, "pytorch", 50, "design"),
    Bar(_GRU20, "jax", 7, "design"),
    Bar(_LSTM20, "pytorch", 8, "design"),
    Bar(_LSTM20, "jax", 7, "design"),
    Bar(Shape("rnn", 20, 1, 1, 1000), "jax", 3, "design"),
    Bar(Shape("gru", 20, 12, 1, 1000), "jax", 3, "design"),
    Bar(_RNN128, "jax", 3, "design"),
    Bar(_GRU128, "pytorch", 7, "design"),
    Bar(_GRU128, "jax", 3, "design"),
    Bar(_LSTM128, "pytorch", 6, "design"),
    Bar(_LSTM128, "jax", 3, "design"),
    Bar(_GRU256, "jax", 2, "design"),
]

COMPILE_SECONDS = 5.0
START_SECONDS = 0.05
