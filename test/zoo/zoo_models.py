"""The data and settings for training the models of the zoo. Tests import it without PyTorch."""

import dataclasses
import zlib

import numpy as np


@dataclasses.dataclass(frozen=True)
class Entry:
    """One model: its class in networks.py, its inputs, and its settings for 100 training steps."""

    network: str
    # name: shape (batch first), then "float", "unit", "lengths", "padding" or the class count
    inputs: dict
    target: tuple  # same format
    loss: str = "cross-entropy"
    optimizer: str = "adam"
    rate: float = 5e-3
    samples: int = 8
    batch: int = 8
    mode: str = "eval"  # module mode during export
    options: tuple = ()  # compiler options
    exporters: tuple = ("torchscript", "dynamo")
    frozen: str = ""  # regular expression of the parameters that are not trained
    untied: tuple = ()  # exporters that merge parameters of equal values
    has_modes: bool = False  # layers differ between training and inference
    optimized: bool = True  # False: skip dynamo's optimizer, which removes zero biases

    @property
    def has_unoptimized(self):
        """Whether dynamo also exports the model with optimize=False; otherwise only that."""
        return "dynamo" in self.exporters and self.mode == "eval" and self.optimized

    @property
    def epochs(self):
        return 100 // -(-self.samples // self.batch)


def sequence(*sizes):
    return {"x": ((7, *sizes), "float")}


BOTH = ("torchscript", "dynamo")
TRAINED = {"mode": "train", "has_modes": True, "optimizer": "sgd", "rate": 0.05}
ZOO = {
    "mlp": Entry("MLP", {"x": ((12,), "float")}, ((), 4), samples=20, batch=4),
    "char_lm": Entry("CharLM", {"tokens": ((9,), 16)}, ((9,), 16), mode="train"),
    "bigru_attention": Entry("BiGRUAttention", sequence(6), ((), 4)),
    "bigru_max": Entry("BiGRUMax", sequence(6), ((), 4), optimizer="rmsprop", rate=2e-3),
    "packed": Entry("PackedGRU", sequence(6) | {"lengths": ((), "lengths")}, ((), 4),
                    exporters=("torchscript",)),
    "seq2seq": Entry("Seq2Seq", {"source": ((7,), 12), "previous": ((5,), 12)}, ((5,), 12)),
    "loop_decoder": Entry("LoopDecoder", sequence(5), ((6, 3), "float"), loss="mse"),
    "crnn": Entry("CRNN", {"image": ((1, 8, 12), "float")}, ((6,), 5), **TRAINED),
    "keywords": Entry("KeywordSpotter", {"wave": ((68,), "float")}, ((), 4), frozen="^frontend", **TRAINED),
    "transformer": Entry("TransformerClassifier", sequence(6), ((), 4), optimizer="adamw", rate=1e-3, untied=("torchscript",),
                         optimized=False),
    "causal_transformer": Entry("CausalTransformer", {"tokens": ((9,), 16)}, ((9,), 16), rate=1e-3, untied=("torchscript",),
                         optimized=False),
    "masked_transformer": Entry("MaskedTransformer", sequence(6) | {"padding": ((7,), "padding")}, ((), 4), rate=1e-3,
                                untied=("torchscript",), optimized=False),
    "tcn": Entry("TCN", sequence(3), ((7, 2), "float"), loss="huber"),
    "unet": Entry("UNet", {"x": ((1, 8, 8), "float")}, ((1, 8, 8), "unit"), loss="bce-with-logits",
                  samples=10, batch=4, **TRAINED),
    "autoencoder": Entry("Autoencoder", {"x": ((1, 12, 12), "unit")}, ((1, 12, 12), "unit"), loss="mse"),
    "siamese": Entry("Siamese", {"a": ((10,), "float"), "b": ((10,), "float")}, ((1,), "unit"),
                     loss="bce-with-logits"),
    "forecaster": Entry("Forecaster", {"series": ((24,), "float")}, ((6,), "float"), loss="l1", rate=2e-3, untied=BOTH),
    "resnet": Entry("ResNet", {"x": ((3, 8, 8), "float")}, ((), 4), samples=11, batch=4, **TRAINED),
    "text_cnn": Entry("TextCNN", {"tokens": ((7,), 20)}, ((), 3)),
    "recommender": Entry("Recommender", {"user": ((), 30), "item": ((), 20)}, ((), "unit"),
                         loss="bce-with-logits", samples=40, batch=10),
    "gated": Entry("GatedConvolutions", {"x": ((2, 14), "float")}, ((1, 14), "float"), loss="mse"),
    "super_resolution": Entry("SuperResolution", {"x": ((1, 6, 6), "float")}, ((1, 12, 12), "float"), loss="mse"),
}  # fmt: skip


def make_array(rng, samples, shape, kind):
    shape = (samples, *shape)
    if kind == "float":
        return rng.standard_normal(shape).astype(np.float32)
    if kind == "unit":
        return rng.uniform(size=shape).astype(np.float32)
    if kind == "lengths":
        lengths = np.sort(rng.integers(3, 8, shape))[::-1].copy()
        lengths[0] = 7  # the number of time steps of the array
        return lengths
    if kind == "padding":
        return np.arange(shape[1]) >= rng.integers(3, 8, (samples, 1))
    return rng.integers(0, kind, shape)


def make_data(name):
    """Returns the arrays of a data set."""
    entry, rng = ZOO[name], np.random.default_rng(zlib.crc32(name.encode()))
    arrays = {key: make_array(rng, entry.samples, *kind) for key, kind in entry.inputs.items()}
    return arrays | {"target": make_array(rng, entry.samples, *entry.target)}
