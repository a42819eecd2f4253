//===- ScanLoops.h - scans as loops -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expansions of a chain with a plan. Each of them replaces the chain.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H

#include "ChainArrays.h"
#include "bppsa/CostModel/Machines/ChunkRule.h"
#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"

namespace bppsa {

/// Base of emitters for ScanOrder.h whose indices are values of type `index`.
class IndexEmitter {
public:
  using Index = mlir::Value;

  explicit IndexEmitter(const ChainArrays &arrays) : arrays(arrays), builder(arrays.builder) {}

  Index constant(int64_t value) { return arrays.getIndex(value); }
  Index add(Index a, Index b) { return make<mlir::arith::AddIOp>(a, b); }
  Index sub(Index a, Index b) { return make<mlir::arith::SubIOp>(a, b); }
  Index mul(Index a, Index b) { return make<mlir::arith::MulIOp>(a, b); }
  Index div(Index a, Index b) { return make<mlir::arith::DivUIOp>(a, b); }
  Index shl(Index a, Index b) { return make<mlir::arith::ShLIOp>(a, b); }
  Index min(Index a, Index b) { return make<mlir::arith::MinUIOp>(a, b); }
  Index max(Index a, Index b) { return make<mlir::arith::MaxUIOp>(a, b); }

protected:
  static IndexRange getRange(mlir::Value first, mlir::Value count) {
    return {mlir::getAsOpFoldResult(first), mlir::getAsOpFoldResult(count)};
  }
  IndexRange getOne(mlir::Value index) {
    return {mlir::getAsOpFoldResult(index), arrays.getAttr(1)};
  }

  const ChainArrays &arrays;
  /// Returns the mapping of a parallel loop of rank `rank` that runs each iteration as a thread
  /// block. Loops with this mapping are kept even if they have few iterations.
  mlir::ArrayAttr getBlockMapping(size_t rank) const;

  mlir::OpBuilder &builder;

private:
  template <typename OpTy> Index make(Index a, Index b) {
    return builder.createOrFold<OpTy>(arrays.loc, a, b);
  }
};

/// The values that a copy of a link yields: the cotangents of the states, or the emitted values.
enum class LinkValues { States, Emitted };

/// Clones the link of `chain` into `region`, yielding only `values`.
void cloneLinkInto(ChainOp chain, mlir::Region &region, LinkValues values);

/// Creates the affine transition of a run of links, given the slices `saved` and `injected`. It is
/// stored by columns, or by rows if `byRows` is set.
mlir::Value createTransition(const ChainArrays &arrays, mlir::ValueRange saved,
                             mlir::ValueRange injected, mlir::Value into, bool byRows = false);

/// Operands of a run of links: windows of the arrays of the chain, possibly with more lanes.
struct ChainRun {
  llvm::SmallVector<mlir::Value> saved, seeds, injected, factors = {}, into = {};
};

ChainOp createRun(const ChainArrays &arrays, const ChainRun &run);

/// Creates a time loop without states and with an empty body. It has the captures of the chain and
/// writes its outputs to `into`.
RecurrenceOp createStatelessLoop(const ChainArrays &arrays, mlir::ValueRange sequences,
                                 mlir::ValueRange into);

/// Emits the number of steps of a chunk: the size given by the plan, or `rule` evaluated at run
/// time.
mlir::Value emitChunkSize(const ChainArrays &arrays, cost::ChunkRule rule);

/// Options for the loops of a scan.
struct LoopForm {
  /// Builds the matrices of links from their factors if these are known.
  bool factorsLinks = false;
  /// Emits one loop for each level of a tree or each sweep over chunks.
  bool wholeLevels = false;

  FirstChunk getFirstChunk() const { return wholeLevels ? FirstChunk::Matrix : FirstChunk::Vector; }
};

/// Expands to a chunked scan in the order of `emitChunkedScan`.
void expandToChunks(ChainOp chain, LoopForm form);
/// Expands to a chunked scan with `lanes` chunks per vector. The chain must have one lane.
void expandToLanes(ChainOp chain, int64_t lanes);
/// Expands to a Blelloch or hybrid scan in the order of `emitTreeScan`.
void expandToTree(ChainOp chain, LoopForm form);
/// Expands a scan over a static number of links to straight-line code.
void unrollScan(ChainOp chain, const ScanSchedule &schedule);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H
