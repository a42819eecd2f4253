# Part of the bppsa project, under the MIT License.
"""ONNX models and recurrent layers as PyTorch modules with compiled forward and backward passes.

They support autograd, optimizers, ``state_dict`` and ``torch.compile`` like other modules, on the
CPU and in float32.

    layer = bppsa.torch.GRU(12, 20)           # replaces torch.nn.GRU
    model = bppsa.torch.Module("gru.onnx")    # an ONNX model, with its parameters
"""

from bppsa.torch.module import Module, from_module
from bppsa.torch.recurrent import GRU, LSTM, RNN

__all__ = ["GRU", "LSTM", "RNN", "Module", "from_module"]
