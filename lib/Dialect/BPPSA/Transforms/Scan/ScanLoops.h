//===- ScanLoops.h - scans as loops -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The forms in which `bppsa-expand-scan` writes a chain with a plan. Each replaces
// the chain.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H

#include "ChainArrays.h"
#include "bppsa/CostModel/Machines/ChunkRule.h"
#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"

namespace bppsa {

/// The numbers of emitters of ScanOrder.h, as values of type `index`.
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
  /// One slot, or a run of steps.
  static IndexRange getRange(mlir::Value first, mlir::Value count) {
    return {mlir::getAsOpFoldResult(first), mlir::getAsOpFoldResult(count)};
  }
  IndexRange getOne(mlir::Value index) {
    return {mlir::getAsOpFoldResult(index), arrays.getAttr(1)};
  }

  const ChainArrays &arrays;
  /// The mapping of a parallel loop of `rank` dimensions each of whose iterations is a block of
  /// threads. Such loops stay loops, however few their iterations are.
  mlir::ArrayAttr getBlockMapping(size_t rank) const;

  mlir::OpBuilder &builder;

private:
  template <typename OpTy> Index make(Index a, Index b) {
    return builder.createOrFold<OpTy>(arrays.loc, a, b);
  }
};

/// What a copy of a link yields: the cotangents of the states, or the emitted values.
enum class LinkValues { States, Emitted };

/// Fills `region` with the link of `chain`, which then yields `values` alone.
void cloneLinkInto(ChainOp chain, mlir::Region &region, LinkValues values);

/// The affine transition of the run of links that `saved` and `injected` are slices of, which lies
/// column by column or `byRows`.
mlir::Value createTransition(const ChainArrays &arrays, mlir::ValueRange saved,
                             mlir::ValueRange injected, mlir::Value into, bool byRows = false);

/// What a run of links works on: windows of the arrays of the chain, which may have more lanes than
/// that.
struct ChainRun {
  llvm::SmallVector<mlir::Value> saved, seeds, injected, factors = {}, into = {};
};

/// The chain of a run.
ChainOp createRun(const ChainArrays &arrays, const ChainRun &run);

/// Steps of a chunk: what the plan says, or else `rule` at run time.
mlir::Value emitChunkSize(const ChainArrays &arrays, cost::ChunkRule rule);

/// How the loops of a scan are written.
struct LoopForm {
  /// The matrices of links are made of their factors where these are known.
  bool factorsLinks = false;
  /// What a level of a tree does, or a sweep over chunks, is one loop.
  bool wholeLevels = false;

  FirstChunk getFirstChunk() const { return wholeLevels ? FirstChunk::Matrix : FirstChunk::Vector; }
};

/// Chunks of links, `emitChunkedScan`.
void expandToChunks(ChainOp chain, LoopForm form);
/// The same with `lanes` chunks in a vector, of a chain that has one lane.
void expandToLanes(ChainOp chain, int64_t lanes);
/// The tree of a Blelloch or hybrid scan, `emitTreeScan`.
void expandToTree(ChainOp chain, LoopForm form);
/// Straight-line code of a scan over a static number of links.
void unrollScan(ChainOp chain, const ScanSchedule &schedule);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_SCANLOOPS_H
