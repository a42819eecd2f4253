//===- LowerScanTree.cpp - Blelloch and hybrid scans ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The scan of BPPSA (section 3), over an array of n + 1 elements: element 0 is
// the seed, a vector; element j is the map of position j - 1; n = T. `levels`
// levels up, a linear scan over the roots of the blocks of 2^levels elements, and
// as many levels down. With floor(log2 n) levels there is one whole block, and
// that is the modified Blelloch scan.
//
// What is not computed: products with the identity (the first operation of each
// level on the way down is a copy), products that end in element n on the way up
// (nothing reads them), and the map of position T - 1.
//
//===----------------------------------------------------------------------===//

#include "../Bodies/ScanSizes.h"
#include "AffineMaps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
class TreeScan {
public:
  TreeScan(const CotangentLoop &loop, const LaneOptions &options, AffineMapBuilder leaf,
           CotangentWalk walk)
      : loop(loop), options(options), leaf(std::move(leaf)), walk(std::move(walk)),
        loc(loop.op->getLoc()), rowType(Rows(loop.seeds[0]).getRowType()),
        size(loop.getTotalSize()), layout(AffineMapLayout::get(loop)) {}

  /// `mostLevels` is negative where the tree has no limit.
  void lower(int64_t mostLevels) {
    OpBuilder builder(loop.op);
    zero = getIndex(builder, loc, 0);
    one = getIndex(builder, loc, 1);
    n = getNumSteps(builder, loop);
    levels = emitNumLevels(builder, loc, n, mostLevels);
    int64_t lanes = rowType.getDimSize(0), dynamic = ShapedType::kDynamic;
    Type element = rowType.getElementType();
    maps = memref::AllocOp::create(
        builder, loc, MemRefType::get({dynamic, layout.getNumColumns(), size, lanes}, element),
        ValueRange{n}, builder.getI64IntegerAttr(64));
    vectors = memref::AllocOp::create(
        builder, loc, MemRefType::get({dynamic, size, lanes}, element),
        ValueRange{addIndex(builder, loc, n, 1)}, builder.getI64IntegerAttr(64));
    running = allocateRows(builder, loc, size, rowType);
    next = allocateRows(builder, loc, size, rowType);
    // One batch block after the other: the maps of one are memory enough.
    emitFor(builder, loc, zero, getDim(builder, loc, loop.saved[0], 0), 1,
            [&](OpBuilder &nested, Value block) { emitBlock(nested, block); });
    memref::DeallocOp::create(builder, loc, maps);
    memref::DeallocOp::create(builder, loc, vectors);
  }

private:
  AffineMapRows getMap(Value element) { return {layout, maps, {element}}; }
  Rows getVector(Value element) { return {vectors, {element}}; }

  void emitBlock(OpBuilder &builder, Value block) {
    emitLoadSeeds(builder, loop, block, getVector(zero));
    emitParallel(builder, loc, addIndex(builder, loc, n, -1),
                 [&](OpBuilder &nested, Value position) {
                   leaf.allocateScratch(nested);
                   Value next = addIndex(nested, loc, position, 1);
                   leaf.emit(nested, block, position, next, getMap(next));
                 });
    emitFor(builder, loc, zero, levels, 1,
            [&](OpBuilder &nested, Value level) { emitUpLevel(nested, level); });
    emitRoots(builder);
    emitFor(builder, loc, zero, levels, 1, [&](OpBuilder &nested, Value down) {
      Value level = addIndex(nested, loc, arith::SubIOp::create(nested, loc, levels, down), -1);
      emitDownLevel(nested, level);
    });
    emitParallel(builder, loc, n, [&](OpBuilder &nested, Value position) {
      walk.allocateScratch(nested);
      walk.emitStep(nested, block, position, getVector(addIndex(nested, loc, position, 1)));
    });
    emitStoreCotangents(builder, loop, block, getVector(n));
  }

  /// Calls `emit(l, end, i)` in parallel for the operations of a level: l is the
  /// end of the left block of 2^level elements and `end` that of the right one,
  /// not yet cut at n.
  void emitLevel(OpBuilder &builder, Value level,
                 function_ref<void(OpBuilder &, Value, Value, Value)> emit) {
    Value half = arith::ShLIOp::create(builder, loc, one, level);
    Value whole = arith::ShLIOp::create(builder, loc, half, one);
    // i = 0, whole, 2 whole, ... while i <= n - half; level <= log2 n.
    Value last = arith::SubIOp::create(builder, loc, n, half);
    Value count = addIndex(builder, loc, arith::DivUIOp::create(builder, loc, last, whole), 1);
    emitParallel(builder, loc, count, [&](OpBuilder &nested, Value index) {
      Value i = arith::MulIOp::create(nested, loc, index, whole);
      Value left = addIndex(nested, loc, arith::AddIOp::create(nested, loc, i, half), -1);
      Value end = addIndex(nested, loc, arith::AddIOp::create(nested, loc, i, whole), -1);
      emit(nested, left, end, i);
    });
  }

  Value emitIsFirst(OpBuilder &builder, Value i) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, i, zero);
  }

  void emitIf(OpBuilder &builder, Value condition, function_ref<void(OpBuilder &)> then,
              function_ref<void(OpBuilder &)> otherwise = nullptr) {
    auto branch = [&](function_ref<void(OpBuilder &)> body) {
      return [this, body](OpBuilder &nested, Location) {
        body(nested);
        scf::YieldOp::create(nested, loc);
      };
    };
    if (otherwise)
      scf::IfOp::create(builder, loc, condition, branch(then), branch(otherwise));
    else
      scf::IfOp::create(builder, loc, condition, branch(then));
  }

  void emitUpLevel(OpBuilder &builder, Value level) {
    emitLevel(builder, level, [&](OpBuilder &op, Value left, Value end, Value i) {
      Rows scratch = allocateRows(op, loc, getComposeScratchRows(size), rowType);
      Value isRead = arith::CmpIOp::create(op, loc, arith::CmpIPredicate::ult, end, n);
      emitIf(op, isRead, [&](OpBuilder &read) {
        emitIf(
            read, emitIsFirst(read, i),
            [&](OpBuilder &first) {
              emitApply(first, loc, getMap(end), getVector(left), getVector(end), options);
            },
            [&](OpBuilder &other) {
              emitCompose(other, loc, getMap(left), getMap(end), scratch, options);
            });
      });
    });
  }

  /// The linear exclusive scan over the last elements of whole blocks; the total
  /// goes to element n. The first block's is a vector: its prefix would be the
  /// identity.
  void emitRoots(OpBuilder &builder) {
    Value block = arith::ShLIOp::create(builder, loc, one, levels);
    Value first = addIndex(builder, loc, block, -1);
    emitCopy(builder, loc, getVector(first), running, size);
    // The second root is `block` further; roots before n only.
    Value second = arith::AddIOp::create(builder, loc, first, block);
    scf::ForOp::create(builder, loc, second, n, block, ValueRange(),
                       [&](OpBuilder &nested, Location, Value root, ValueRange) {
                         emitApply(nested, loc, getMap(root), running, next, options);
                         emitCopy(nested, loc, running, getVector(root), size);
                         emitCopy(nested, loc, next, running, size);
                         scf::YieldOp::create(nested, loc);
                       });
    emitCopy(builder, loc, running, getVector(n), size);
  }

  /// (left, right) = (prefix, left product after prefix), with the prefix in
  /// the right element.
  void emitDownLevel(OpBuilder &builder, Value level) {
    emitLevel(builder, level, [&](OpBuilder &op, Value left, Value end, Value i) {
      Rows next = allocateRows(op, loc, size, rowType);
      Value right = arith::MinUIOp::create(op, loc, end, n);
      emitIf(
          op, emitIsFirst(op, i),
          [&](OpBuilder &first) { emitCopy(first, loc, getVector(left), getVector(right), size); },
          [&](OpBuilder &other) {
            emitApply(other, loc, getMap(left), getVector(right), next, options);
            emitCopy(other, loc, getVector(right), getVector(left), size);
            emitCopy(other, loc, next, getVector(right), size);
          });
    });
  }

  CotangentLoop loop;
  LaneOptions options;
  AffineMapBuilder leaf;
  CotangentWalk walk;
  Location loc;
  VectorType rowType;
  int64_t size;
  AffineMapLayout layout;
  Value zero, one, n, levels, maps, vectors;
  /// The linear scan over roots.
  Rows running, next;
};
} // namespace

LogicalResult bppsa::lowerTree(const CotangentLoop &loop, int64_t mostLevels,
                               const LaneOptions &options) {
  FailureOr<AffineMapBuilder> leaf = AffineMapBuilder::create(loop, options);
  FailureOr<CotangentWalk> walk = CotangentWalk::create(loop, options, {});
  if (failed(leaf) || failed(walk))
    return failure();
  TreeScan(loop, options, std::move(*leaf), std::move(*walk)).lower(mostLevels);
  return success();
}

LogicalResult bppsa::lowerScan(ScanOp op, const LaneOptions &options) {
  CotangentLoop loop = getCotangentLoop(op);
  PlanAttr plan = op.getPlan();
  switch (plan.getAlgorithm()) {
  case ScanAlgorithm::Linear:
    return lowerSequentially(loop, options);
  case ScanAlgorithm::Blelloch:
    return lowerTree(loop, -1, options);
  case ScanAlgorithm::Hybrid:
    // Without levels every element is a root, and nothing composes maps: the links
    // themselves are applied.
    return plan.getSize() == 0 ? lowerSequentially(loop, options)
                               : lowerTree(loop, plan.getSize(), options);
  // Chunks of a length chosen at run time are what costs least on a CPU.
  case ScanAlgorithm::Auto:
    return lowerChunked(loop, 0, options);
  case ScanAlgorithm::Chunked:
    return lowerChunked(loop, plan.getSize(), options);
  }
  llvm_unreachable("unknown scan algorithm");
}
