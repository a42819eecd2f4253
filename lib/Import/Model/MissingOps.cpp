//===- MissingOps.cpp - ops that are not in the table, all at once --------===//
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

/// What to write instead, or nothing.
static StringRef getRewrite(StringRef domain, StringRef op) {
  if (domain == "com.microsoft")
    return "save the model without the fusions of ONNX Runtime";
  return llvm::StringSwitch<StringRef>(op)
      .Case("CastLike", "write Cast")
      .Cases({"DequantizeLinear", "QuantizeLinear"}, "export the model in float32")
      .Case("GlobalLpPool", "write ReduceL2")
      .Case("Hardmax", "write ArgMax and OneHot")
      .Case("MeanVarianceNormalization", "write InstanceNormalization")
      .Case("ReverseSequence", "give the lengths to a recurrent layer as sequence_lens")
      .Case("Scatter", "write ScatterElements")
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
  return diagnostic << "--list-support prints what is";
}
