"""The ONNX model of the trainer in unittests/Runtime, whose compiled code is hand-written.

    logits = mean over time(x) * scale @ weight^T + bias;    x [T, B, 3], logits [B, 4]
Run as a script, it prints unittests/Runtime/FakeModelOnnx.inc.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SCALE = np.array([1.0, 0.5, 2.0], np.float32)
WEIGHT = (np.arange(12, dtype=np.float32).reshape(4, 3) - 5.5) / 16
BIAS = np.array([0.0, 0.25, -0.25, 0.125], np.float32)


def build():
    initializers = [
        numpy_helper.from_array(SCALE, "scale"),
        numpy_helper.from_array(WEIGHT, "head.weight"),
        # Not packed as raw bytes, so that both storage formats are covered.
        helper.make_tensor("head.bias", TensorProto.FLOAT, [4], BIAS),
    ]
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=0),
        helper.make_node("Mul", ["mean", "scale"], ["scaled"]),
        helper.make_node("Gemm", ["scaled", "head.weight", "head.bias"], ["logits"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "fake",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "B", 3])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["B", 4])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def main():
    data = build().SerializeToString(deterministic=True)
    print("// The bytes of the model in test/Runtime/fake_model.py, which prints this file.")
    print(f"// Offsets of the values: scale {data.index(SCALE.tobytes())}, "
          f"head.weight {data.index(WEIGHT.tobytes())}, head.bias {data.index(BIAS.tobytes())}.")
    for start in range(0, len(data), 16):
        print(" ".join(f"0x{byte:02x}," for byte in data[start : start + 16]))


if __name__ == "__main__":
    main()
