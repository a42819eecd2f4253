//===- Importer.h - a graph node and its context ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_MODEL_IMPORTER_H
#define BPPSA_LIB_IMPORT_MODEL_IMPORTER_H

#include "../SupportTable/SupportTable.h"
#include "GraphImporter.h"

namespace bppsa {

/// Returns the value of a constant tensor that has one element, or float elements that are all
/// equal.
std::optional<double> getSplatConstant(const Tensor &tensor);

/// Formats a number for messages: "0.5", not "5.000000e-01".
std::string describeNumber(double value);

/// A node whose attributes and operands have been checked against the support table.
class Node {
public:
  Node(GraphImporter &importer, Scope &scope, const onnx::GraphProto &parent,
       const onnx::NodeProto &proto, const OpRule &rule)
      : importer(importer), scope(scope), graph(importer.graph), file(importer.file),
        initializers(importer.initializers), parent(parent), proto(proto), rule(rule),
        opset(importer.opset), outputs(proto.output_size()) {}

  GraphImporter &importer;
  Scope &scope;
  GraphBuilder &graph;
  const OnnxFile &file;
  const Initializers &initializers;
  const onnx::GraphProto &parent;
  const onnx::NodeProto &proto;
  const OpRule &rule;
  int64_t opset;
  /// One per operand of the rule that exists in `opset`; absent operands are nullopt.
  llvm::SmallVector<std::optional<Tensor>> inputs;
  llvm::SmallVector<std::optional<Tensor>> outputs;

  llvm::StringRef getOp() const { return rule.name; }
  std::string describeShape(const Tensor &tensor) const { return graph.describeShape(tensor); }
  /// Begins a single-line error: "node 'name' (Op): ".
  mlir::InFlightDiagnostic emitError() const;

  mlir::LogicalResult checkAttributes() const;
  mlir::LogicalResult checkOperands() const;

  const onnx::AttributeProto *findAttribute(llvm::StringRef name) const;
  bool hasAttribute(llvm::StringRef name) const { return findAttribute(name) != nullptr; }
  int64_t getInt(llvm::StringRef name, int64_t otherwise) const;
  float getFloat(llvm::StringRef name, float otherwise) const;
  llvm::StringRef getString(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<llvm::ArrayRef<int64_t>> getInts(llvm::StringRef name) const;
  llvm::ArrayRef<float> getFloats(llvm::StringRef name) const;
  llvm::SmallVector<llvm::StringRef> getStrings(llvm::StringRef name) const;
  const onnx::GraphProto &getGraph(llvm::StringRef name) const { return findAttribute(name)->g(); }

  const Tensor &input(size_t index) const { return *inputs[index]; }
  bool hasInput(size_t index) const { return index < inputs.size() && inputs[index]; }
  bool wantsOutput(size_t index) const {
    return index < outputs.size() && !proto.output(index).empty();
  }
  bool isRead(size_t index) const;
  mlir::LogicalResult setOutput(size_t index, Tensor tensor) {
    if (index < outputs.size())
      outputs[index] = std::move(tensor);
    return mlir::success();
  }
  /// Sets the only output, or emits an error that sizes do not match.
  mlir::LogicalResult setOutput(mlir::FailureOr<Tensor> tensor);

  mlir::LogicalResult emitShapeError() const;

  mlir::LogicalResult requireOneElementType(llvm::ArrayRef<size_t> indices) const;
  mlir::LogicalResult requireRank(size_t index, int64_t rank) const;

  /// Normalizes axes, which may count from the back, to [0, rank). `normalizeAxes` also sorts them
  /// and rejects duplicates.
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank) const;
  mlir::FailureOr<llvm::SmallVector<int64_t>> normalizeAxes(llvm::ArrayRef<int64_t> axes,
                                                            int64_t rank) const;

  /// Returns the elements of an integer input known at compile time, as expressions of sizes or
  /// constants.
  mlir::FailureOr<llvm::SmallVector<mlir::AffineExpr>> getExprs(size_t index) const;
  mlir::FailureOr<llvm::SmallVector<int64_t>> getConstants(size_t index) const;
  mlir::FailureOr<int64_t> getNumber(size_t index, llvm::StringRef name) const;
  /// Returns an integer list that is an attribute in old opsets and an input in new ones.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> getList(llvm::StringRef attribute,
                                                                     size_t index) const;

  /// Returns the value of a float setting: the attribute `name` in old opsets; in new ones the
  /// input `index`, a constant or an initializer with equal elements; `otherwise` if it is absent.
  /// An initializer that holds a setting is not trained.
  mlir::FailureOr<double> getSetting(llvm::StringRef name, size_t index, double otherwise) const;
  /// Marks the initializer that is input `index`, if any, as not trained.
  void freeze(size_t index) const;

  /// Creates dimensions of the given sizes. Sizes that are or may be negative are errors.
  mlir::FailureOr<llvm::SmallVector<Dim>> makeDims(llvm::ArrayRef<mlir::AffineExpr> sizes) const;

private:
  mlir::LogicalResult checkAttribute(const onnx::AttributeProto &attribute) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_IMPORTER_H
