"""The models of the suite: the features of the recurrent operators, alone and in pairs."""

from models import Spec

LOSS = "cross-entropy"


def feature_specs():
    specs = []
    for cell in ("RNN", "GRU", "LSTM"):
        for direction in ("forward", "reverse", "bidirectional"):
            for layout in (0, 1):
                specs.append(Spec(cell, direction=direction, layout=layout))
        specs += [
            Spec(cell, bias=False),
            Spec(cell, initial="input"),
            Spec(cell, initial="parameter"),
            Spec(cell, initial="constant", layers=2),
            Spec(cell, initial="input", layout=1, direction="bidirectional"),
            Spec(cell, initial="parameter", layout=1, direction="reverse"),
            Spec(cell, weights_as_inputs=True),
            Spec(cell, layers=2),
            Spec(cell, layers=3, direction="bidirectional"),
            Spec(cell, head="steps"),
            Spec(cell, head="steps", direction="reverse"),
            Spec(cell, head="steps", direction="bidirectional", layout=1, initial="input"),
            Spec(cell, head="steps", layers=2, initial="parameter"),
            Spec(cell, features=1, hidden=20),
            Spec(cell, features=40, hidden=33),
        ]
    for direction in ("forward", "reverse", "bidirectional"):
        specs.append(Spec("GRU", linear_before_reset=1, direction=direction))
    specs += [
        Spec("GRU", linear_before_reset=1, bias=False),
        Spec("GRU", linear_before_reset=1, head="steps", layout=1, initial="input"),
        Spec("GRU", linear_before_reset=1, layers=2),
        Spec("RNN", activations=("Relu",)),
        Spec("RNN", activations=("Sigmoid",), direction="reverse"),
        Spec("RNN", activations=("Relu",), direction="bidirectional", head="steps"),
        Spec("LSTM", head="cell"),
        Spec("LSTM", head="cell", direction="bidirectional", initial="input"),
        Spec("RNN", fixed_time=6),
        Spec("GRU", fixed_time=6, fixed_batch=5),
    ]
    for cell in ("RNN", "GRU", "LSTM"):
        specs += [Spec(cell, opset=opset) for opset in (7, 9, 11, 13, 14, 20, 22)]
    return specs


def identifier(spec):
    return spec.label()
