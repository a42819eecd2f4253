# Part of the bppsa project, under the MIT License.
"""Python side of bppsa, a compiler that turns ONNX recurrent models into trainable programs.

``python -m bppsa.data``    makes seeded training sets (bitstreams, instrument features) as ``.npz``
``python -m bppsa.models``  makes the example ONNX models

Importing the package needs the standard library only; the generators need NumPy, the model
scripts need PyTorch or onnx.
"""

__version__ = "0.1.0"
