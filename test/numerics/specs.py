"""The models of the test suite: features of the recurrent operators, one at a time and in pairs."""

import functools

from models import Spec

LOSS = "cross-entropy"


@functools.cache
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
    return specs + cell_specs() + ragged_specs()


def cell_specs():
    """Parametrized activations, clipping, and further LSTM options."""
    specs = [
        Spec("RNN", activations=("Affine",), alphas=(0.6,), betas=(0.2,)),
        Spec("RNN", activations=("Elu",), alphas=(0.7,)),
        Spec("RNN", activations=("Elu",)),
        Spec("RNN", activations=("HardSigmoid",), alphas=(0.3,), betas=(0.4,), head="steps"),
        Spec("RNN", activations=("HardSigmoid",)),
        Spec("RNN", activations=("LeakyRelu",), direction="reverse"),
        Spec("RNN", activations=("LeakyRelu",), alphas=(0.2,)),
        Spec("RNN", activations=("ScaledTanh",), alphas=(1.3,), betas=(0.6,), features=40, hidden=33),
        Spec("RNN", activations=("Softplus",)),
        Spec("RNN", activations=("Softsign",), head="steps"),
        Spec("RNN", activations=("ThresholdedRelu",), alphas=(0.1,)),
        Spec("RNN", activations=("ScaledTanh", "LeakyRelu"), alphas=(1.2, 0.3), betas=(0.8,),
             direction="bidirectional"),
        Spec("GRU", activations=("HardSigmoid", "Softsign")),
        Spec("GRU", activations=("HardSigmoid", "LeakyRelu"), alphas=(0.3, 0.1), betas=(0.5,),
             linear_before_reset=1, head="steps"),
        Spec("GRU", activations=("Sigmoid", "Elu", "HardSigmoid", "Tanh"), alphas=(0.6, 0.25),
             betas=(0.45,), direction="bidirectional"),
        Spec("LSTM", activations=("HardSigmoid", "Softsign", "ScaledTanh"), alphas=(0.25, 1.1),
             betas=(0.5, 0.7)),
        Spec("LSTM", activations=("Sigmoid", "Affine", "Tanh", "Sigmoid", "Tanh", "Elu"),
             alphas=(0.8, 0.5), betas=(0.1,), direction="bidirectional", head="steps"),
        Spec("LSTM", peepholes=True),
        Spec("LSTM", peepholes=True, direction="bidirectional", initial="input", head="cell"),
        Spec("LSTM", peepholes=True, features=40, hidden=33, head="steps"),
        Spec("LSTM", input_forget=1),
        Spec("LSTM", input_forget=1, peepholes=True, clip=0.4, direction="reverse", head="steps"),
        Spec("LSTM", layout=1, peepholes=True, bias=False),
    ]  # fmt: skip
    for cell in ("RNN", "GRU", "LSTM"):
        specs += [Spec(cell, clip=0.5), Spec(cell, clip=0.3, direction="bidirectional", head="steps")]
    return specs + [Spec("GRU", clip=0.3, linear_before_reset=1)]


def ragged_specs():
    """Samples of different lengths."""
    specs = []
    for cell in ("RNN", "GRU", "LSTM"):
        for direction in ("forward", "reverse", "bidirectional"):
            specs.append(Spec(cell, lengths=True, direction=direction))
            specs.append(Spec(cell, lengths=True, direction=direction, head="steps", layout=1))
        specs += [
            Spec(cell, lengths=True, layers=2, direction="bidirectional", initial="input"),
            Spec(cell, lengths=True, features=40, hidden=33, head="steps"),
        ]
    return specs + [
        Spec("LSTM", lengths=True, peepholes=True, clip=0.5, direction="bidirectional", head="cell"),
        Spec("GRU", lengths=True, linear_before_reset=1, head="steps"),
        Spec("LSTM", lengths=True, fixed_time=6),
    ]


def identifier(spec):
    return spec.label()
