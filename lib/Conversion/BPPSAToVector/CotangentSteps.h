//===- CotangentSteps.h - apply the link of a chain -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_COTANGENTSTEPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_COTANGENTSTEPS_H

#include "BPPSAToVector.h"
#include "TimeOrder.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// Returns the type of one row of a state; one element if lanes hold units.
mlir::VectorType getRowType(const CotangentLoop &loop);

/// Applies the link to one vector of samples, step by step.
class CotangentSteps {
public:
  /// Fails with a diagnostic if the link cannot be emitted.
  static llvm::FailureOr<CotangentSteps> create(const CotangentLoop &loop,
                                                const LaneOptions &options, LinkOptions link);

  int64_t getMaxSamples(int64_t most) const { return emitter.getMaxSamples(most); }
  void setSamples(int64_t samples) { emitter.setSamples(samples); }
  int64_t getSamples() const { return emitter.getSamples(); }

  /// Allocates the scratch memory of one thread.
  void allocateScratch(mlir::OpBuilder &builder);

  /// Runs all steps of `block` and updates the concatenated cotangents in `state`.
  void emit(mlir::OpBuilder &builder, mlir::Value block, const Rows &state);

  /// Visits the steps in the order of the chain.
  void emitFor(mlir::OpBuilder &builder,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

  void emitStep(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step, const Rows &state);

  /// Works in blocks as with `endsWithZero` if emitted values vanish with the cotangents.
  void emitAll(mlir::OpBuilder &builder, mlir::Value block, const Rows &state);

  /// Calls `use` after each block. Emitted value i of step t is written to `buffers[i]` at t -
  /// `first`, or to its sequence if null. With `endsWithZero`, blocks of zero cotangents only write
  /// zeros to sequences.
  void emitBlocks(mlir::OpBuilder &builder, mlir::Value block, llvm::ArrayRef<mlir::Value> buffers,
                  bool endsWithZero, const Rows &state,
                  llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> use);

private:
  CotangentSteps(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
                 LaneEmitter emitter, LinkOptions link);

  using EmittedRows = llvm::function_ref<Rows(size_t emitted)>;

  void emit(mlir::OpBuilder &builder, const LaneSlab &steps, llvm::ArrayRef<mlir::Value> buffers,
            const Rows &state);
  /// Emits an i1: `state` and the injected cotangents at `steps` are zero.
  mlir::Value emitIsZero(mlir::OpBuilder &builder, const LaneSlab &steps, const Rows &state);
  void emitZeros(mlir::OpBuilder &builder, const LaneSlab &steps,
                 llvm::ArrayRef<mlir::Value> buffers);
  LaterRows getLaterRows(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step);
  void emitStep(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step, const Rows &state,
                EmittedRows getEmittedRows);

  CotangentLoop loop;
  std::unique_ptr<mlir::Region> region;
  LaneEmitter emitter;
  LinkOptions link;
  TimeOrder order;
  /// Buffers for new cotangents of states whose old ones are still read; else empty.
  llvm::SmallVector<Rows> waiting;
  mlir::Value bits;
};

mlir::Value getNumSteps(mlir::OpBuilder &builder, const CotangentLoop &loop);
/// Copy seeds of `samples` samples to `state`, and initial-state cotangents to their destinations.
void emitLoadSeeds(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value block,
                   const Rows &state, int64_t samples);
void emitStoreCotangents(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value block,
                         const Rows &state, int64_t samples);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_COTANGENTSTEPS_H
