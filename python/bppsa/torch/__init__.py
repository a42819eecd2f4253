# Part of the bppsa project, under the MIT License.
"""ONNX models and recurrent layers as modules of PyTorch, whose forward and backward passes are
compiled.  They take part in autograd, optimizers, ``state_dict`` and ``torch.compile`` as any other
modules do, on the CPU and in float32.

    layer = bppsa.torch.GRU(12, 20)           # in place of torch.nn.GRU
    model = bppsa.torch.Module("gru.onnx")    # an ONNX model, with its parameters
"""

from bppsa.torch.module import Module, from_module
from bppsa.torch.recurrent import GRU, LSTM, RNN

__all__ = ["GRU", "LSTM", "RNN", "Module", "from_module"]
