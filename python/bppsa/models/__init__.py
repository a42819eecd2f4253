# Part of the bppsa project, under the MIT License.
"""Scripts that make the example ONNX models; see ``python -m bppsa.models --help``.

``pytorch``  exported by PyTorch's two exporters (needs torch, onnx, onnxscript, onnxruntime)
``keras``    the graphs that Keras models become, written node by node (needs onnx, onnxruntime)
``streaming``  a step graph that denoises sound, written node by node (needs onnx)
``images``   convolutional networks as PyTorch exports them (needs torch, onnx, onnxruntime)
``heads``    adds auxiliary heads to any model, and takes them off again (needs onnx)

The submodules are not imported here, so that the package loads with the standard library alone.
"""
