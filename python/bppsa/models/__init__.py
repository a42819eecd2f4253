# Part of the bppsa project, under the MIT License.
"""Scripts that create the example ONNX models; see ``python -m bppsa.models --help``.

``pytorch``  exported by PyTorch's two exporters (needs torch, onnx, onnxscript, onnxruntime)
``keras``    as converted from Keras, built node by node (needs onnx, onnxruntime)
``streaming``  a step graph that denoises sound, built node by node (needs onnx)
``images``   convolutional networks exported by PyTorch (needs torch, onnx, onnxruntime)
``heads``    adds auxiliary heads to any model, and removes them (needs onnx)

The package loads with the standard library only, because the submodules are not imported here.
"""
