//===- LoopImporter.h - Scan and Loop as recurrences ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_LOOPS_LOOPIMPORTER_H
#define BPPSA_LIB_IMPORT_LOOPS_LOOPIMPORTER_H

#include "../Model/Importer.h"
#include "../Sequences/LoopLists.h"
#include "LoopBuilder.h"

namespace bppsa {

/// An array that a body sees one step after the other.
struct LoopSequence {
  std::string name;
  Tensor array;
  /// The axis of `array` that counts steps.
  int64_t axis;
};

/// What Scan and Loop ask for, in the terms of both.
struct LoopRequest {
  const onnx::GraphProto *body;
  /// Names in the body and values before the first step.
  llvm::SmallVector<std::pair<std::string, Tensor>> states;
  llvm::SmallVector<LoopSequence> sequences;
  /// Values of the body that no step changes.
  llvm::SmallVector<std::pair<std::string, Tensor>> constants;
  /// How many outputs the body has before those of the states.
  size_t numLeadingOutputs = 0;
  /// For each output that is a sequence the axis of its steps, which may count from the back.
  llvm::SmallVector<int64_t> outputAxes;
  Dim steps;
  bool reverse = false;
  /// The lists among the states of the body, which `states` has the tensors of; null without any.
  LoopLists *lists = nullptr;
};

/// The body of a loop after its import: shapes and facts, no code.
struct LoopShapes {
  llvm::SmallVector<llvm::SmallVector<Dim>> states, sequences, outputs;
};

/// Imports a loop over a graph, as a recurrence whose rows are the samples where an axis carries
/// them: one that the body treats alike and keeps apart. Else it has one row, and all sizes must be
/// fixed.
class LoopImporter {
public:
  LoopImporter(Node &node, const LoopRequest &request)
      : node(node), graph(node.graph), request(request) {}

  /// The final states and the sequences of outputs.
  mlir::FailureOr<llvm::SmallVector<Tensor>> run();

private:
  /// Where the states, sequences and outputs have the rows.
  struct Rows {
    Dim dim;
    llvm::SmallVector<std::optional<int64_t>> states, sequences, outputs;
  };

  /// Imports the body to see what it does to the axes; `shapes` holds them then. Leaves no code.
  mlir::LogicalResult analyse();
  mlir::LogicalResult checkStates(llvm::ArrayRef<Tensor> results);
  mlir::LogicalResult analyseBody(llvm::DenseMap<int, int> &fresh);
  std::optional<Rows> findRows() const;
  std::optional<Rows> makeRows(int axisClass, bool mayLack) const;
  bool hasFixedSizes(const Rows &rows) const;
  mlir::FailureOr<llvm::SmallVector<Tensor>> build(const Rows &rows);
  mlir::FailureOr<llvm::SmallVector<Tensor>> importBody(Scope &scope);
  mlir::LogicalResult defineConstants(Scope &scope);
  mlir::FailureOr<int64_t> getOutputAxis(size_t index, int64_t rank) const;
  std::string describeNode() const;

  Node &node;
  GraphBuilder &graph;
  const LoopRequest &request;
  LoopShapes shapes;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_LOOPIMPORTER_H
