//===- MissingOps.cpp - report all unsupported ops at once ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../SupportTable/SupportTable.h"
#include "GraphImporter.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace bppsa;

static StringRef getDomain(const onnx::NodeProto &node) {
  return node.domain().empty() ? "ai.onnx" : StringRef(node.domain());
}

const OpRule *bppsa::findRule(const onnx::NodeProto &node) {
  return getDomain(node) == "ai.onnx" ? findOp(node.op_type()) : nullptr;
}

StringRef bppsa::getNodeName(const onnx::NodeProto &node) {
  return node.name().empty() && node.output_size() != 0 ? StringRef(node.output(0))
                                                        : StringRef(node.name());
}

static StringRef getRewrite(StringRef domain, StringRef op) {
  if (domain == "com.microsoft")
    return "save the model without the fusions of ONNX Runtime";
  return llvm::StringSwitch<StringRef>(op)
      .Cases({"Acos", "Asin"}, "write Atan of the quotient with the square root of 1 - x * x")
      .Cases({"Acosh", "Asinh", "Atanh"}, "write Log of the formula that defines it")
      .Cases({"AffineGrid", "EyeLike", "HammingWindow", "HannWindow", "BlackmanWindow",
              "MelWeightMatrix"},
             "compute it before the export, as a constant")
      .Cases({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
              "RandomUniformLike"},
             "pass the random values as a graph input; Dropout is supported")
      .Cases({"BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"},
             "do it before the export, or in the data set")
      .Cases({"Compress", "NonMaxSuppression", "NonZero", "Unique"},
             "its shape depends on data; write Where with a mask of all elements")
      .Cases({"Cosh", "Sinh"}, "write Exp of x and of -x")
      .Cases({"DequantizeLinear", "QuantizeLinear"}, "export the model in float32")
      .Case("GlobalLpPool", "write ReduceL2")
      .Case("Hardmax", "write ArgMax and OneHot")
      .Case("IsInf", "write Abs and Equal with infinity")
      .Case("IsNaN", "write Equal of x with itself, and Not")
      .Case("LRN", "write AveragePool of the squares over an axis of channels")
      .Case("MeanVarianceNormalization", "write InstanceNormalization")
      .Case("ReverseSequence", "give the lengths to a recurrent layer as sequence_lens")
      .Case("Scatter", "write ScatterElements")
      .Case("SequenceMap", "write a Loop over the list")
      .Case("Shrink", "write Where")
      .Case("Tan", "write Sin and Cos")
      .Case("TopK", "write ReduceMax or ArgMax for one element")
      .Default("");
}

LogicalResult bppsa::requireSupported(const onnx::GraphProto &graph, Location location) {
  llvm::MapVector<std::pair<StringRef, StringRef>, SmallVector<StringRef>> missing;
  for (const onnx::NodeProto &node : graph.node())
    if (!findRule(node))
      missing[{getDomain(node), node.op_type()}].push_back(getNodeName(node));
  if (missing.empty())
    return success();
  InFlightDiagnostic diagnostic = emitError(location);
  for (const auto &[op, nodes] : missing) {
    diagnostic << "node " << quoted(nodes.front());
    if (nodes.size() > 1)
      diagnostic << " and " << nodes.size() - 1 << " more";
    diagnostic << ": op " << quoted(op.second) << " of domain " << quoted(op.first)
               << " is not supported";
    if (StringRef rewrite = getRewrite(op.first, op.second); !rewrite.empty())
      diagnostic << " (" << rewrite << ")";
    diagnostic << "; ";
  }
  return diagnostic << "run with --list-support for a list";
}
