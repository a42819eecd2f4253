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

/// Returns the vector type of one row of a state; one element if lanes hold units.
mlir::VectorType getRowType(const CotangentLoop &loop);

/// Applies the link to the cotangent of one vector of samples, step by step.
class CotangentSteps {
public:
  /// Fails with a diagnostic if the link cannot be emitted.
  static llvm::FailureOr<CotangentSteps> create(const CotangentLoop &loop,
                                                const LaneOptions &options, LinkOptions link);

  /// See LaneEmitter.
  int64_t getMaxSamples(int64_t most) const { return emitter.getMaxSamples(most); }
  void setSamples(int64_t samples) { emitter.setSamples(samples); }
  int64_t getSamples() const { return emitter.getSamples(); }

  /// Allocates the scratch memory of one thread at the insertion point.
  void allocateScratch(mlir::OpBuilder &builder);

  /// Applies the link at all steps of batch block `block`. Updates the concatenated cotangents of
  /// the states in `state` in place.
  void emit(mlir::OpBuilder &builder, mlir::Value block, const Rows &state);

  /// Emits `body` for each step in the order of the chain.
  void emitFor(mlir::OpBuilder &builder,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

  void emitStep(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step, const Rows &state);

  /// Applies the link at all steps. If all emitted values vanish with the cotangents, works in
  /// blocks as with `endsWithZero`.
  void emitAll(mlir::OpBuilder &builder, mlir::Value block, const Rows &state);

  /// Applies the link at all steps in blocks and calls `use` after each block. Emitted value i of
  /// step t is written to `buffers[i]` at index t - `first`, or to its sequence if the buffer is
  /// null. With `endsWithZero`, a block with zero cotangents and no injected cotangents only writes
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
  /// Emits an i1 that is true if `state` and the cotangents injected at `steps` are zero.
  mlir::Value emitIsZero(mlir::OpBuilder &builder, const LaneSlab &steps, const Rows &state);
  void emitZeros(mlir::OpBuilder &builder, const LaneSlab &steps,
                 llvm::ArrayRef<mlir::Value> buffers);
  LaterRows getLaterRows(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step);
  void emitStep(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step, const Rows &state,
                EmittedRows getEmittedRows);

  CotangentLoop loop;
  /// Owns the link with the options `link`.
  std::unique_ptr<mlir::Region> region;
  LaneEmitter emitter;
  LinkOptions link;
  TimeOrder order;
  /// For each state whose cotangent must not be overwritten while it is read, a buffer for the new
  /// cotangent. Empty for other states.
  llvm::SmallVector<Rows> waiting;
  mlir::Value bits;
};

mlir::Value getNumSteps(mlir::OpBuilder &builder, const CotangentLoop &loop);
/// Copy the concatenated seeds of `samples` samples to `state`, and cotangents of initial states
/// from `state` to the destinations.
void emitLoadSeeds(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value block,
                   const Rows &state, int64_t samples);
void emitStoreCotangents(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value block,
                         const Rows &state, int64_t samples);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_COTANGENTSTEPS_H
