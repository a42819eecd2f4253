//===- CotangentSteps.h - applies a link to part of a chain ----*- C++ -*-===//
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

/// The vector type of one row of a state: one number over units.
mlir::VectorType getRowType(const CotangentLoop &loop);

/// Applies the link to the cotangent of one vector of samples, step by step.
class CotangentSteps {
public:
  /// Fails after a diagnostic, where the link cannot be emitted.
  static llvm::FailureOr<CotangentSteps> create(const CotangentLoop &loop,
                                                const LaneOptions &options, LinkOptions link);

  /// As those of LaneEmitter.
  int64_t getMaxSamples(int64_t most) const { return emitter.getMaxSamples(most); }
  void setSamples(int64_t samples) { emitter.setSamples(samples); }
  int64_t getSamples() const { return emitter.getSamples(); }

  /// Allocates what one thread needs, at the insertion point.
  void allocateScratch(mlir::OpBuilder &builder);

  /// Applies the link at all steps of batch block `block`. The cotangents of the states, one after
  /// the other in `state`, are updated in place.
  void emit(mlir::OpBuilder &builder, mlir::Value block, const Rows &state);

  /// Emits `body` for each step, in the order of the chain.
  void emitFor(mlir::OpBuilder &builder,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

  /// Applies the link at one step.
  void emitStep(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step, const Rows &state);

  /// Applies the link at all positions; where all that is emitted vanishes with the cotangents of
  /// the states, block by block as with `endsWithZero`.
  void emitAll(mlir::OpBuilder &builder, mlir::Value block, const Rows &state);

  /// Applies the link at all steps, in blocks that `use` is called behind. Emitted value i of step
  /// t is written to `buffers[i]`, where that is not null, in place t - `first`. With
  /// `endsWithZero`, a block that would begin with cotangents of zero, and to which no other ones
  /// are added, writes zeros to sequences and does nothing else.
  void emitBlocks(mlir::OpBuilder &builder, mlir::Value block, llvm::ArrayRef<mlir::Value> buffers,
                  bool endsWithZero, const Rows &state,
                  llvm::function_ref<void(mlir::OpBuilder &, const LaneSlab &)> use);

private:
  CotangentSteps(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region,
                 LaneEmitter emitter, LinkOptions link);

  /// Where the emitted values of a step are written.
  using EmittedRows = llvm::function_ref<Rows(size_t emitted)>;

  /// Applies the link at `steps`, in the order of the chain.
  void emit(mlir::OpBuilder &builder, const LaneSlab &steps, llvm::ArrayRef<mlir::Value> buffers,
            const Rows &state);
  /// Whether `state` and what is added to it at `steps` are zero, an i1.
  mlir::Value emitIsZero(mlir::OpBuilder &builder, const LaneSlab &steps, const Rows &state);
  void emitZeros(mlir::OpBuilder &builder, const LaneSlab &steps,
                 llvm::ArrayRef<mlir::Value> buffers);
  LaterRows getLaterRows(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step);
  void emitStep(mlir::OpBuilder &builder, mlir::Value block, mlir::Value step, const Rows &state,
                EmittedRows getEmittedRows);

  CotangentLoop loop;
  /// Holds the link as `link` says.
  std::unique_ptr<mlir::Region> region;
  LaneEmitter emitter;
  LinkOptions link;
  TimeOrder order;
  /// For each state whose cotangent cannot be overwritten while it is read: where
  /// the new one waits; without memory for the others.
  llvm::SmallVector<Rows> waiting;
  /// An integer for bits of cotangents.
  mlir::Value bits;
};

/// The index of the last position + 1, which is the number of steps.
mlir::Value getNumSteps(mlir::OpBuilder &builder, const CotangentLoop &loop);
/// Copies seeds of `samples` samples, laid one after the other, to `state`; the reverse of it for
/// the cotangents of the initial states.
void emitLoadSeeds(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value block,
                   const Rows &state, int64_t samples);
void emitStoreCotangents(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value block,
                         const Rows &state, int64_t samples);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_COTANGENTSTEPS_H
