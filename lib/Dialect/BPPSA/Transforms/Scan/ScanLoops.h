//===- ScanLoops.h - scans as loops -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expansions that replace a chain with a plan.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H

#include "ChainArrays.h"
#include "bppsa/CostModel/Machines/ChunkRule.h"
#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"

namespace bppsa {

/// Base of emitters for ScanOrder.h on `index` values.
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
  /// Maps a parallel loop of rank `rank` to thread blocks. Such loops are kept even if short.
  mlir::ArrayAttr getBlockMapping(size_t rank) const;

  mlir::OpBuilder &builder;

private:
  template <typename OpTy> Index make(Index a, Index b) {
    return builder.createOrFold<OpTy>(arrays.loc, a, b);
  }
};

enum class LinkValues { States, Emitted };

void cloneLinkInto(ChainOp chain, mlir::Region &region, LinkValues values);

/// Creates the affine transition of a run with slices `saved` and `injected`, stored by columns
/// unless `byRows`.
mlir::Value createTransition(const ChainArrays &arrays, mlir::ValueRange saved,
                             mlir::ValueRange injected, mlir::Value into, bool byRows = false);

/// Windows of the chain's arrays, possibly with more lanes.
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

struct LoopForm {
  /// True to build matrices from factors if known.
  bool factorsLinks = false;
  /// True for one loop per tree level or chunk sweep.
  bool wholeLevels = false;

  FirstChunk getFirstChunk() const { return wholeLevels ? FirstChunk::Matrix : FirstChunk::Vector; }
};

/// Follows the order of `emitChunkedScan`.
void expandToChunks(ChainOp chain, LoopForm form);
/// Uses `lanes` chunks per vector; the chain must have one lane.
void expandToLanes(ChainOp chain, int64_t lanes);
/// Follows the order of `emitTreeScan`.
void expandToTree(ChainOp chain, LoopForm form);
/// Emits straight-line code for a static number of links.
void unrollScan(ChainOp chain, const ScanSchedule &schedule);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H
