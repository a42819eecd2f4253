//===- DeviceMapping.h - mapping of loops to GPU kernels --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Maps loops to kernels, from sizes and types only (docs/Explanation/GPUMappings.md). The cost
// model also maps loops that a plan would create.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// A mapping, and the reason against the preferred mapping, if any.
struct MappingChoice {
  GPUMappingAttr mapping;
  std::string reason;
};

struct LoopBody {
  mlir::Operation *op;
  mlir::Block *body;
  size_t numCaptures, firstState, numStates;
  llvm::SmallVector<mlir::Value> sources;
  /// Columns of each sum that threads keep in registers, distributed like the rows of the body.
  std::vector<int64_t> summed;
};

/// Chooses one block per row, or cooperating blocks if `canCooperate` and the matrices exceed the
/// registers of one block. Fails with a diagnostic if no kernel fits.
llvm::FailureOr<MappingChoice> chooseLoopMapping(const LoopBody &loop, bool canCooperate);
llvm::FailureOr<MappingChoice> chooseLoopMapping(RecurrenceOp op);
llvm::FailureOr<MappingChoice> chooseLoopMapping(ChainOp op);

/// Chooses a kernel for transition columns of a chain or transition. `readAhead` is set if runs
/// have several steps. Fails with a diagnostic if no kernel fits.
llvm::FailureOr<MappingChoice> chooseTransitionMapping(const CotangentLoop &loop, bool readAhead,
                                                       TensorPrecision precision);

/// True if the sums of `loop` fit into registers with its matrices, in a block of at most two warps
/// or of the warps needed without sums. Fails with a diagnostic if no kernel can run the loop.
llvm::FailureOr<bool> fitsSums(const LoopBody &loop);

/// `body` is the result of `cloneLink` with the same `options`.
LoopBody getLoopBody(const CotangentLoop &loop, mlir::Block &body, LinkOptions options);
llvm::SmallVector<mlir::Value> getSources(const CotangentLoop &loop, LinkOptions options);

/// Returns why `parts` neighbouring threads per column cannot evaluate the links, or an empty
/// string. `body` has no injected or emitted values.
std::string findObstacleToThreads(const CotangentLoop &loop, mlir::Block &body, int64_t parts);
/// Returns why several blocks cannot share the rows of `loop`, or an empty string.
std::string findObstacleToSharing(const LoopBody &loop);

/// A matrix of a link with the size that products see.
struct LinkFactor {
  mlir::BlockArgument matrix;
  bool isTransposed;
  int64_t numRows, numColumns;
};
llvm::SmallVector<LinkFactor> getFactors(mlir::Block &body);

/// Checks that `op` is bufferized and has no lanes.
llvm::LogicalResult verifyReady(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H
