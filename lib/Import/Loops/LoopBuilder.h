//===- LoopBuilder.h - loops around graphs of ONNX --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_LOOPS_LOOPBUILDER_H
#define BPPSA_LIB_IMPORT_LOOPS_LOOPBUILDER_H

#include "../Model/GraphImporter.h"
#include "mlir/IR/Region.h"

namespace bppsa {

/// Where an array outside of a loop has the steps and the rows of the loop. Axes are those of the
/// array; one that is kept is an axis of size 1 in the body.
struct LoopLayout {
  std::optional<int64_t> stepAxis, rowAxis;
  bool keepsStepAxis = false, keepsRowAxis = false;

  /// The axis in the body for each axis of the array, or -1.
  llvm::SmallVector<int64_t> getBodyAxes(int64_t rank) const;
};

/// `array` as a sequence `[steps, rows, d...]` or, where it has no steps, as a state `[rows, d...]`
/// of a loop. One without rows is repeated for each of `rows`.
Tensor toLoopOrder(GraphBuilder &graph, const Tensor &array, const LoopLayout &layout, Dim rows);
/// The reverse of `toLoopOrder`.
Tensor fromLoopOrder(GraphBuilder &graph, const Tensor &array, const LoopLayout &layout);

/// Makes a `bppsa.recurrence` in graph form. Between construction and `finish`, new operations go
/// into its body; `scope` is what the nodes of the body can read.
class LoopBuilder {
public:
  /// `what` begins messages: "node 'name' (Scan): ". Values of a class of axes `rowClass` differ
  /// from row to row; -1 where there are no such values outside of the loop.
  LoopBuilder(GraphImporter &importer, Scope &outer, std::string what, Dim rows, int rowClass = -1);
  ~LoopBuilder();

  Scope scope;

  /// Adds an operand in the order of the loop, with fixed sizes `d...`, and returns its value in
  /// the body.
  Tensor addSequence(const Tensor &sequence);
  Tensor addState(const Tensor &initial);

  struct Results {
    /// After the last step, `[rows, d...]`; and of every step, `[steps, rows, d...]`.
    llvm::SmallVector<Tensor> states, outputs;
  };
  /// Ends the body, which yields `states` and `outputs`, and makes the loop of `steps` steps.
  mlir::FailureOr<Results> finish(llvm::ArrayRef<Tensor> states, llvm::ArrayRef<Tensor> outputs,
                                  Dim steps, bool reverse = false);

private:
  /// The value of a tensor from outside, which is created there if it is a known constant.
  mlir::Value getOutside(const Tensor &tensor);
  mlir::FailureOr<Tensor> capture(llvm::StringRef name, const Tensor &outer);
  mlir::FailureOr<Tensor> captureList(llvm::StringRef name, const TensorList &outer);
  Tensor captureRows(const Tensor &outer, int64_t rowAxis);
  /// A new argument of the body before argument `position`.
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
  /// States that no step changes: values of the rows that the body reads from outside.
  llvm::SmallVector<mlir::Value> constantStates;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_LOOPBUILDER_H
