//===- CarryLoop.h - a cotangent is carried across runs ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_CARRYLOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_CARRYLOOP_H

#include "AffineMaps.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {

/// A loop over i from 0 on that applies transition i to cotangent i, which gives cotangent i + 1.
/// A block has the cotangent in shared memory, twice, where each of its threads makes one row of
/// the next one; a barrier hands it to the others. Transitions are copied there ahead of time
/// where that holds two.
class CarryLoop {
public:
  /// None where `op`, in the parallel loop `parallel`, is another loop.
  static std::optional<CarryLoop> match(mlir::scf::ForallOp parallel, mlir::scf::ForOp op);

  /// To be called outside of the launch.
  void prepare(mlir::OpBuilder &builder);
  bool is(mlir::scf::ForOp other) const { return op == other; }
  /// The shared arrays that a block needs.
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;
  /// Emits the loop with `shared` of these types and the values of the launch in `values`. All
  /// threads must see the first cotangent.
  void emit(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::ValueRange shared,
            const mlir::IRMapping &values);

private:
  CarryLoop(mlir::scf::ForOp op, ApplyTransitionOp apply);
  /// Cotangent `index` in device memory.
  Place getCotangent(mlir::Value index) const { return {cotangents, {index, zero}}; }
  void emitSteps(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::Value upper);
  void emitStep(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::Value index,
                const Place &from, const Place &to);
  void emitStepInRing(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::Value index,
                      const Place &from, const Place &to);

  mlir::scf::ForOp op;
  ApplyTransitionOp apply;
  mlir::Location loc;
  AffineMapLayout layout;
  /// The arrays of all transitions, and of them as vectors `[i, row, entry]`.
  mlir::Value transitions, vectors;
  std::optional<StepRing> ring;

  // Of the loop that is emitted.
  mlir::Value row, cotangents, state, zero;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_CARRYLOOP_H
