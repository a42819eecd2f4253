//===- StepIndices.h - indices from iteration numbers -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_LOOPS_STEPINDICES_H
#define BPPSA_LIB_IMPORT_LOOPS_STEPINDICES_H

#include "../Model/Importer.h"
#include "llvm/ADT/StringSet.h"

namespace bppsa {

/// The integer `offset + coefficient * i` in step i of a loop, as a tensor of one element.
struct StepIndex {
  mlir::AffineExpr offset;
  int64_t coefficient;
  /// 0 or 1.
  int64_t rank;
};

/// Finds values in the body of a Loop that are computed from the iteration number, constants and
/// sizes.
class AffineIndexAnalysis {
public:
  AffineIndexAnalysis(Node &node, const onnx::GraphProto &body);

  /// Returns nullopt if the value does not have this form.
  std::optional<StepIndex> find(llvm::StringRef name);
  bool isInner(llvm::StringRef name) const { return inner.contains(name); }

  const onnx::NodeProto *findProducer(llvm::StringRef name) const { return producers.lookup(name); }

private:
  std::optional<StepIndex> compute(llvm::StringRef name);
  std::optional<StepIndex> compute(const onnx::NodeProto &producer);
  std::optional<StepIndex> combine(llvm::StringRef op, const StepIndex &a, const StepIndex &b);
  std::optional<StepIndex> readOuter(llvm::StringRef name);
  std::optional<StepIndex> decode(const onnx::TensorProto &tensor);

  Node &node;
  const onnx::GraphProto &body;
  llvm::StringSet<> inner;
  llvm::StringMap<const onnx::NodeProto *> producers;
  llvm::StringMap<std::optional<StepIndex>> found;
};

/// Returns the length of the Python range that TorchScript's exporter computes as `name` in the
/// graph of `node`, or nullopt if the value is not such a length.
MaybeExpr findRangeLength(Node &node, llvm::StringRef name);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_STEPINDICES_H
