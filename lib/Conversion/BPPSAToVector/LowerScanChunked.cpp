//===- LowerScanChunked.cpp - the three phases of a chunked scan ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// 1. Every chunk but the last is aggregated to the map of its links, in parallel.
// 2. The cotangent is carried across chunks by one product each, in order.
// 3. Every chunk is walked again from its carry, in parallel, and emits.
//
//===----------------------------------------------------------------------===//

#include "../Bodies/ScanSizes.h"
#include "AffineMaps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
class ChunkedScan {
public:
  ChunkedScan(const CotangentLoop &loop, const LaneOptions &options, AffineMapBuilder aggregate,
              CotangentWalk walk)
      : loop(loop), options(options), aggregate(std::move(aggregate)), walk(std::move(walk)),
        loc(loop.op->getLoc()), rowType(Rows(loop.seeds[0]).getRowType()),
        size(loop.getTotalSize()), layout(AffineMapLayout::get(loop)) {}

  void lower(int64_t chunkSteps) {
    OpBuilder builder(loop.op);
    numBlocks = getDim(builder, loc, loop.saved[0], 0);
    numSteps = getNumSteps(builder, loop);
    chunk = chunkSteps > 0 ? getIndex(builder, loc, chunkSteps)
                           : emitChunkSteps(builder, loc, cost::cpuChunkRule, numSteps);
    numChunks = arith::CeilDivUIOp::create(builder, loc, numSteps, chunk);
    lastChunk = addIndex(builder, loc, numChunks, -1);

    int64_t lanes = rowType.getDimSize(0), dynamic = ShapedType::kDynamic;
    maps = emitAlloc(builder, {dynamic, dynamic, layout.getNumColumns(), size, lanes}, lastChunk);
    carries = emitAlloc(builder, {dynamic, dynamic, size, lanes}, numChunks);
    emitAggregates(builder);
    emitParallel(builder, loc, numBlocks,
                 [&](OpBuilder &nested, Value block) { emitCarries(nested, block); });
    emitWalks(builder);
    memref::DeallocOp::create(builder, loc, maps);
    memref::DeallocOp::create(builder, loc, carries);
  }

private:
  Value emitAlloc(OpBuilder &builder, ArrayRef<int64_t> shape, Value chunks) {
    return memref::AllocOp::create(builder, loc, MemRefType::get(shape, rowType.getElementType()),
                                   ValueRange{numBlocks, chunks}, builder.getI64IntegerAttr(64));
  }

  AffineMapRows getMap(Value block, Value index) { return {layout, maps, {block, index}}; }

  void emitAggregates(OpBuilder &builder) {
    emitParallel(builder, loc, numBlocks, lastChunk,
                 [&](OpBuilder &nested, Value block, Value index) {
                   aggregate.allocateScratch(nested);
                   Value first = arith::MulIOp::create(nested, loc, index, chunk);
                   Value last = arith::AddIOp::create(nested, loc, first, chunk);
                   aggregate.emit(nested, block, first, last, getMap(block, index));
                 });
  }

  void emitCarries(OpBuilder &builder, Value block) {
    Value zero = getIndex(builder, loc, 0);
    emitLoadSeeds(builder, loop, block, {carries, {block, zero}});
    emitFor(builder, loc, zero, lastChunk, 1, [&](OpBuilder &nested, Value index) {
      emitApply(nested, loc, getMap(block, index), {carries, {block, index}},
                {carries, {block, addIndex(nested, loc, index, 1)}}, options);
    });
  }

  void emitWalks(OpBuilder &builder) {
    emitParallel(
        builder, loc, numBlocks, numChunks, [&](OpBuilder &nested, Value block, Value index) {
          walk.allocateScratch(nested);
          Rows state = {carries, {block, index}};
          Value first = arith::MulIOp::create(nested, loc, index, chunk);
          Value last = arith::AddIOp::create(nested, loc, first, chunk);
          last = arith::MinUIOp::create(nested, loc, last, numSteps);
          walk.emit(nested, block, first, last, state);
          Value isLast =
              arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq, index, lastChunk);
          scf::IfOp::create(nested, loc, isLast, [&](OpBuilder &then, Location) {
            emitStoreCotangents(then, loop, block, state);
            scf::YieldOp::create(then, loc);
          });
        });
  }

  CotangentLoop loop;
  LaneOptions options;
  AffineMapBuilder aggregate;
  CotangentWalk walk;
  Location loc;
  VectorType rowType;
  int64_t size;
  AffineMapLayout layout;
  Value numBlocks, numSteps, chunk, numChunks, lastChunk, maps, carries;
};
} // namespace

LogicalResult bppsa::lowerChunked(const CotangentLoop &loop, int64_t chunkSteps,
                                  const LaneOptions &options) {
  FailureOr<AffineMapBuilder> aggregate = AffineMapBuilder::create(loop, options);
  FailureOr<CotangentWalk> walk = CotangentWalk::create(loop, options, {});
  if (failed(aggregate) || failed(walk))
    return failure();
  ChunkedScan(loop, options, std::move(*aggregate), std::move(*walk)).lower(chunkSteps);
  return success();
}
