//===- LoopBuilder.h - build recurrences from subgraphs ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_LOOPS_LOOPBUILDER_H
#define BPPSA_LIB_IMPORT_LOOPS_LOOPBUILDER_H

#include "../Model/GraphImporter.h"
#include "mlir/IR/Region.h"

namespace bppsa {

/// The time axis and the row axis of an array outside a loop. A kept axis has size 1 in the body.
struct LoopLayout {
  std::optional<int64_t> stepAxis, rowAxis;
  bool keepsStepAxis = false, keepsRowAxis = false;

  /// Returns the axis in the body for each axis of the array, or -1.
  llvm::SmallVector<int64_t> getBodyAxes(int64_t rank) const;
};

/// Transposes `array` to a sequence `[steps, rows, d...]` or a state `[rows, d...]`, broadcasting
/// it to `rows`.
Tensor toLoopOrder(GraphBuilder &graph, const Tensor &array, const LoopLayout &layout, Dim rows);
Tensor fromLoopOrder(GraphBuilder &graph, const Tensor &array, const LoopLayout &layout);

/// Builds a `bppsa.recurrence` in graph form. Until `finish`, new operations are inserted into its
/// body.
class LoopBuilder {
public:
  /// `what` begins diagnostics. Values with an axis of `rowClass` (-1: none) differ from row to
  /// row.
  LoopBuilder(GraphImporter &importer, Scope &outer, std::string what, Dim rows, int rowClass = -1);
  ~LoopBuilder();

  Scope scope;

  /// Adds an operand in loop order, with fixed sizes `d...`, and returns its value in the body.
  Tensor addSequence(const Tensor &sequence);
  Tensor addState(const Tensor &initial);

  struct Results {
    /// After the last step, `[rows, d...]`, and after every step, `[steps, rows, d...]`.
    llvm::SmallVector<Tensor> states, outputs;
  };
  mlir::FailureOr<Results> finish(llvm::ArrayRef<Tensor> states, llvm::ArrayRef<Tensor> outputs,
                                  Dim steps, bool reverse = false);

private:
  mlir::Value getOutside(const Tensor &tensor);
  mlir::FailureOr<Tensor> capture(llvm::StringRef name, const Tensor &outer);
  mlir::FailureOr<Tensor> captureList(llvm::StringRef name, const TensorList &outer);
  Tensor captureRows(const Tensor &outer, int64_t rowAxis);
  mlir::Value addArgument(unsigned position, mlir::Value operand, unsigned leadingDims);
  mlir::InFlightDiagnostic error() const;

  GraphImporter &importer;
  GraphBuilder &graph;
  std::string what;
  Dim rows;
  int rowClass;
  mlir::Region region;
  mlir::Block *body;
  mlir::OpBuilder::InsertPoint outside;
  GraphBuilder::SizeScope sizes;
  int64_t numDropouts, numTrainingModes;
  llvm::SmallVector<mlir::Value> sequences, initial, captures;
  /// States that no step changes: row-dependent outer values.
  llvm::SmallVector<mlir::Value> constantStates;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_LOOPBUILDER_H
