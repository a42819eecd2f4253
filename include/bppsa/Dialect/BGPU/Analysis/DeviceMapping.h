//===- DeviceMapping.h - which kernels of a GPU run a loop ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The rules by which `bppsa-choose-gpu-mapping` maps loops to kernels (docs/GPULowering.md). They
// follow from sizes and types alone, and hold for tensors and for memrefs. Lowerings read the
// mappings; the cost model asks here for those of loops that a plan would make.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// A mapping, and what ruled out the one that would be taken before it; empty where that is the
/// first.
struct MappingChoice {
  GPUMappingAttr mapping;
  std::string reason;
};

/// A body that a loop over time runs.
struct LoopBody {
  mlir::Operation *op;
  mlir::Block *body;
  size_t numCaptures, firstState, numStates;
  /// What each step reads of memory.
  llvm::SmallVector<mlir::Value> sources;
  /// Columns of the sums that threads keep, each of which shares rows as the body does.
  std::vector<int64_t> summed;
};

/// How the steps of a loop run, one after the other: a block a row, or several blocks that share
/// rows where one has not the registers for the matrices and `canCooperate`. Fails after a
/// diagnostic where nothing can run them.
llvm::FailureOr<MappingChoice> chooseLoopMapping(const LoopBody &loop, bool canCooperate);
/// Of a recurrence that is no product of all steps, and of the links of a chain.
llvm::FailureOr<MappingChoice> chooseLoopMapping(RecurrenceOp op);
llvm::FailureOr<MappingChoice> chooseLoopMapping(ChainOp op);

/// How the columns of the transitions of runs of links of `loop` are made, a chain or a transition;
/// `readAhead` where runs have more than one step. Fails as above.
llvm::FailureOr<MappingChoice> chooseTransitionMapping(const CotangentLoop &loop, bool readAhead,
                                                       TensorPrecision precision);

/// Whether the threads of a block have registers for the sums of `loop` beside its matrices, and
/// the block no more than two warps or what it has without them. Fails as above.
llvm::FailureOr<bool> fitsSums(const LoopBody &loop);

/// The links of `loop` with `options` as `body`, made by `cloneLink` for them.
LoopBody getLoopBody(const CotangentLoop &loop, mlir::Block &body, LinkOptions options);
/// What a step of such links reads from memory: all but the cotangent and captures.
llvm::SmallVector<mlir::Value> getSources(const CotangentLoop &loop, LinkOptions options);

/// What threads that have a column, or share one with `parts` neighbours, need to evaluate the
/// links of `loop`; empty where they can. `body` is that of the links without injected and emitted
/// values.
std::string findObstacleToThreads(const CotangentLoop &loop, mlir::Block &body, int64_t parts);
/// What blocks that share rows need to run `loop`; empty where they can.
std::string findObstacleToSharing(const LoopBody &loop);

/// The matrices of a link, each once: rows and columns as products read them.
struct LinkFactor {
  mlir::BlockArgument matrix;
  bool isTransposed;
  int64_t numRows, numColumns;
};
llvm::SmallVector<LinkFactor> getFactors(mlir::Block &body);

/// Checks that `op` is on memory, and on samples one by one, as kernels of a GPU take it.
llvm::LogicalResult verifyReady(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H
