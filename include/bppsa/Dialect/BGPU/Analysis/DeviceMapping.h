//===- DeviceMapping.h - mapping of loops to GPU kernels --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The rules by which `bppsa-choose-gpu-mapping` maps loops to kernels
// (docs/Explanation/GPULowering.md). They depend only on sizes and types and apply to tensors and
// memrefs. Lowerings read the resulting attributes. The cost model calls these functions for loops
// that a plan would create.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// A mapping, and the reason why the preferred mapping was ruled out; the reason is empty for the
/// preferred mapping.
struct MappingChoice {
  GPUMappingAttr mapping;
  std::string reason;
};

/// The body of a time loop.
struct LoopBody {
  mlir::Operation *op;
  mlir::Block *body;
  size_t numCaptures, firstState, numStates;
  /// Arrays that each step reads from memory.
  llvm::SmallVector<mlir::Value> sources;
  /// The number of columns of each sum that threads keep in registers. A sum is distributed over
  /// threads like the rows of the body.
  std::vector<int64_t> summed;
};

/// Chooses a kernel that runs the steps of a loop in order: one block per row, or several
/// cooperating blocks if one block has too few registers for the matrices and `canCooperate` is
/// set. Fails with a diagnostic if no kernel can run the loop.
llvm::FailureOr<MappingChoice> chooseLoopMapping(const LoopBody &loop, bool canCooperate);
/// For a recurrence that is not a product of all time steps, and for the links of a chain.
llvm::FailureOr<MappingChoice> chooseLoopMapping(RecurrenceOp op);
llvm::FailureOr<MappingChoice> chooseLoopMapping(ChainOp op);

/// Chooses a kernel that computes the columns of transitions. `loop` is a chain or a transition.
/// `readAhead` is set if runs have more than one step. Fails with a diagnostic if no kernel fits.
llvm::FailureOr<MappingChoice> chooseTransitionMapping(const CotangentLoop &loop, bool readAhead,
                                                       TensorPrecision precision);

/// Returns true if the sums of `loop` fit into registers together with its matrices. The block may
/// have at most two warps, or as many as it needs without sums. Fails with a diagnostic if no
/// kernel can run the loop.
llvm::FailureOr<bool> fitsSums(const LoopBody &loop);

/// Describes the links of `loop` as a loop body. `body` is the result of `cloneLink` with the same
/// `options`.
LoopBody getLoopBody(const CotangentLoop &loop, mlir::Block &body, LinkOptions options);
/// Returns the arrays that a step of the links reads from memory: all operands except the cotangent
/// and captures.
llvm::SmallVector<mlir::Value> getSources(const CotangentLoop &loop, LinkOptions options);

/// Returns the requirement that prevents threads from evaluating the links of `loop` with one
/// column per `parts` neighbouring threads; empty if they can. `body` has no injected or emitted
/// values.
std::string findObstacleToThreads(const CotangentLoop &loop, mlir::Block &body, int64_t parts);
/// Returns the requirement that prevents several blocks from sharing the rows of `loop`; empty if
/// they can.
std::string findObstacleToSharing(const LoopBody &loop);

/// A matrix of a link, with the rows and columns that products see. `getFactors` returns each
/// matrix once.
struct LinkFactor {
  mlir::BlockArgument matrix;
  bool isTransposed;
  int64_t numRows, numColumns;
};
llvm::SmallVector<LinkFactor> getFactors(mlir::Block &body);

/// Checks that `op` is bufferized and not packed into lanes, as GPU kernels require.
llvm::LogicalResult verifyReady(mlir::Operation *op);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEMAPPING_H
