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

/// An array that the body of a loop reads one step at a time.
struct LoopSequence {
  std::string name;
  Tensor array;
  int64_t axis;
};

struct LoopRequest {
  const onnx::GraphProto *body;
  /// Names in the body, and values before the first step.
  llvm::SmallVector<std::pair<std::string, Tensor>> states;
  llvm::SmallVector<LoopSequence> sequences;
  llvm::SmallVector<std::pair<std::string, Tensor>> constants;
  /// Number of outputs of the body before the states.
  size_t numLeadingOutputs = 0;
  /// The time axis of each scan output; negative axes count from the back.
  llvm::SmallVector<int64_t> outputAxes;
  Dim steps;
  bool reverse = false;
  /// The lists among the states of the body; `states` holds their tensors.
  LoopLists *lists = nullptr;
};

/// The dimensions found by a trial import of the body.
struct LoopShapes {
  llvm::SmallVector<llvm::SmallVector<Dim>> states, sequences, outputs;
};

/// Imports a loop over a subgraph as a recurrence. Its rows are the samples if the body computes
/// every position of an axis independently; else it has one row and all sizes must be fixed.
class LoopImporter {
public:
  LoopImporter(Node &node, const LoopRequest &request)
      : node(node), graph(node.graph), request(request) {}

  /// Returns the final states, then the scan outputs.
  mlir::FailureOr<llvm::SmallVector<Tensor>> run();

private:
  struct Rows {
    Dim dim;
    llvm::SmallVector<std::optional<int64_t>> states, sequences, outputs;
  };

  /// Imports the body to find its uses of axes, stores the dimensions in `shapes`, and erases the
  /// code again.
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
