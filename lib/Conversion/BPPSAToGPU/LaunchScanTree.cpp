//===- LaunchScanTree.cpp - Blelloch and hybrid scans, level by level -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The modified Blelloch scan of the BPPSA paper (section 3.1), one launch for each
// level: the first element is a vector, the others are maps; a hybrid scan stops
// after some levels and walks the roots in order. All samples go at a time. Elements
// and levels are those of lib/Dialect/BPPSA/Analysis/ScanSchedule.cpp.
//
//===----------------------------------------------------------------------===//

#include "BPPSAToGPU.h"
#include "Walks/AffineMaps.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace bppsa;

namespace {
class TreeLaunch {
public:
  TreeLaunch(const CotangentLoop &loop, MapWalks leaves, BlockWalk walk)
      : loop(loop), leaves(std::move(leaves)), emitting(std::move(walk)), loc(loop.op->getLoc()),
        size(loop.getTotalSize()),
        element(cast<MemRefType>(loop.seeds[0].getType()).getElementType()),
        numThreads(std::min(roundUpToWarps(size), kMostThreads)) {}

  /// `mostLevels` is negative where the tree has no limit.
  void launch(int64_t mostLevels) {
    OpBuilder builder(loop.op);
    zero = getIndex(builder, loc, 0);
    one = getIndex(builder, loc, 1);
    n = countSteps(builder, loop);
    numSamples = countSamples(builder, loop);
    levels = emitNumLevels(builder, loc, n, mostLevels);
    maps = DeviceMaps::allocate(builder, loop, n);
    auto type = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic, size}, element);
    vectors = memref::AllocOp::create(builder, loc, type,
                                      ValueRange{numSamples, addIndex(builder, loc, n, 1)},
                                      builder.getI64IntegerAttr(64));
    launchLeaves(builder);
    emitLoop(builder, loc, zero, levels,
             [&](OpBuilder &nested, Value level) { launchUpLevel(nested, level); });
    launchRoots(builder);
    emitLoop(builder, loc, zero, levels, [&](OpBuilder &nested, Value down) {
      Value level = addIndex(nested, loc, arith::SubIOp::create(nested, loc, levels, down), -1);
      launchDownLevel(nested, level);
    });
    launchEmission(builder);
    memref::DeallocOp::create(builder, loc, maps.memref);
    memref::DeallocOp::create(builder, loc, vectors);
  }

private:
  Place getVector(Value sample, Value index) const { return {vectors, {sample, index}}; }

  void launchLeaves(OpBuilder &builder) {
    emitForEachThread(
        builder, loc, mulIndex(builder, loc, numSamples, getIndex(builder, loc, size)),
        [&](OpBuilder &nested, Value number) {
          SmallVector<Value> digits =
              splitIndex(nested, loc, number, {Value(), getIndex(nested, loc, size)});
          getVector(digits[0], zero)
              .store(nested, loc, loadSeed(nested, loop, digits[0], digits[1]), digits[1]);
        });
    leaves.launch(builder, maps, addIndex(builder, loc, n, -1), /*first=*/1,
                  [&](OpBuilder &nested, Value position) {
                    return std::pair<Value, Value>(position, addIndex(nested, loc, position, 1));
                  });
  }

  /// An operation of a level on one sample: `left` is the end of the left block of
  /// 2^level elements and `end` that of the right one, not yet cut at n; `isFirst`
  /// says whether the left block is the first of all.
  struct Operands {
    Value sample, left, end, isFirst;
  };

  /// Launches a block for each sample and each operation of a level.
  void launchLevel(OpBuilder &builder, Value level,
                   function_ref<void(OpBuilder &, const LaunchedThread &, const Operands &)> emit) {
    Value half = arith::ShLIOp::create(builder, loc, one, level);
    Value whole = arith::ShLIOp::create(builder, loc, half, one);
    // i = 0, whole, 2 whole, ... while i <= n - half; level <= log2 n.
    Value last = arith::SubIOp::create(builder, loc, n, half);
    Value count = addIndex(builder, loc, arith::DivUIOp::create(builder, loc, last, whole), 1);
    auto shared = MemRefType::get({size}, element);
    emitLaunch(builder, loc, mulIndex(builder, loc, numSamples, count), numThreads, shared,
               [&](OpBuilder &nested, const LaunchedThread &thread) {
                 SmallVector<Value> digits =
                     splitIndex(nested, loc, thread.block, {Value(), count});
                 Value i = mulIndex(nested, loc, digits[1], whole);
                 Value left = addIndex(nested, loc, addIndex(nested, loc, i, half), -1);
                 Value end = addIndex(nested, loc, addIndex(nested, loc, i, whole), -1);
                 emit(nested, thread, {digits[0], left, end, isEqual(nested, loc, i, zero)});
               });
  }

  void emitIfElse(OpBuilder &builder, Value condition, function_ref<void(OpBuilder &)> then,
                  function_ref<void(OpBuilder &)> otherwise) {
    auto branch = [&](function_ref<void(OpBuilder &)> body) {
      return [this, body](OpBuilder &nested, Location) {
        body(nested);
        scf::YieldOp::create(nested, loc);
      };
    };
    scf::IfOp::create(builder, loc, condition, branch(then), branch(otherwise));
  }

  void launchUpLevel(OpBuilder &builder, Value level) {
    launchLevel(builder, level,
                [&](OpBuilder &op, const LaunchedThread &thread, const Operands &at) {
                  emitIf(op, loc, isBelow(op, loc, at.end, n), [&](OpBuilder &read) {
                    emitRows(read, loc, thread, size, [&](OpBuilder &nested, Value row) {
                      emitIfElse(
                          nested, at.isFirst,
                          [&](OpBuilder &first) {
                            Value value = emitApply(first, loc, maps, at.sample, at.end,
                                                    getVector(at.sample, at.left), row);
                            getVector(at.sample, at.end).store(first, loc, value, row);
                          },
                          [&](OpBuilder &other) { emitComposedRow(other, at, row); });
                    });
                  });
                });
  }

  /// Row `row` of `end after left`, in place: a row of a product needs that row of
  /// the second factor alone, which the thread keeps.
  void emitComposedRow(OpBuilder &builder, const Operands &at, Value row) {
    auto entryOf = [&](OpBuilder &b, Value map, Value column) {
      return maps.getColumn(at.sample, map, column).load(b, loc, row);
    };
    if (maps.isDiagonal) {
      Value diagonal = entryOf(builder, at.end, zero);
      auto scale = [&](int64_t column, Value addend) {
        Place target = maps.getColumn(at.sample, at.end, getIndex(builder, loc, column));
        Value source = entryOf(builder, at.left, getIndex(builder, loc, column));
        Value result = addend ? math::FmaOp::create(builder, loc, diagonal, source, addend)
                              : arith::MulFOp::create(builder, loc, diagonal, source).getResult();
        target.store(builder, loc, result, row);
      };
      if (maps.hasOffset)
        scale(1, entryOf(builder, at.end, one));
      return scale(0, Value());
    }
    auto keptType = MemRefType::get({size}, element);
    Value kept = memref::AllocaOp::create(builder, loc, keptType);
    Value rows = getIndex(builder, loc, size);
    emitLoop(builder, loc, zero, rows, [&](OpBuilder &nested, Value k) {
      memref::StoreOp::create(nested, loc, entryOf(nested, at.end, k), kept, k);
    });
    Value columns = getIndex(builder, loc, maps.getNumColumns());
    emitLoop(builder, loc, zero, columns, [&](OpBuilder &nested, Value column) {
      Place target = maps.getColumn(at.sample, at.end, column);
      Place source = maps.getColumn(at.sample, at.left, column);
      Value start = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(element));
      if (maps.hasOffset)
        start = arith::SelectOp::create(nested, loc, isEqual(nested, loc, column, rows),
                                        target.load(nested, loc, row), start);
      Value sum = emitFold(nested, loc, zero, rows, start,
                           [&](OpBuilder &inner, Value k, ValueRange running) {
                             Value left = memref::LoadOp::create(inner, loc, kept, k);
                             Value right = source.load(inner, loc, k);
                             return SmallVector<Value>{
                                 math::FmaOp::create(inner, loc, left, right, running[0])};
                           })
                      .front();
      target.store(nested, loc, sum, row);
    });
  }

  /// The linear exclusive scan over the last elements of whole blocks; the total
  /// goes to element n. The first block's is a vector: its prefix would be the
  /// identity.
  void launchRoots(OpBuilder &builder) {
    Value block = arith::ShLIOp::create(builder, loc, one, levels);
    Value first = addIndex(builder, loc, block, -1);
    // The roots after the first that lie before n.
    Value count = arith::DivUIOp::create(builder, loc, n, block);
    auto shared = MemRefType::get({2, size}, element);
    emitLaunch(
        builder, loc, numSamples, numThreads, shared,
        [&](OpBuilder &nested, const LaunchedThread &thread) {
          Value state = thread.shared[0], sample = thread.block;
          emitRows(nested, loc, thread, size, [&](OpBuilder &inside, Value row) {
            Place{state, {one}}.store(inside, loc, getVector(sample, first).load(inside, loc, row),
                                      row);
          });
          emitBarrier(nested, loc);
          emitLoop(nested, loc, one, count, [&](OpBuilder &step, Value index) {
            Value before = arith::AndIOp::create(step, loc, index, one);
            Value after = arith::XOrIOp::create(step, loc, before, one);
            Value root = addIndex(step, loc, first, mulIndex(step, loc, index, block));
            emitRows(step, loc, thread, size, [&](OpBuilder &inside, Value row) {
              Place running = {state, {before}};
              Value value = emitApply(inside, loc, maps, sample, root, running, row);
              getVector(sample, root).store(inside, loc, running.load(inside, loc, row), row);
              Place{state, {after}}.store(inside, loc, value, row);
            });
            emitBarrier(step, loc);
          });
          Value copy = arith::AndIOp::create(nested, loc, count, one);
          emitRows(nested, loc, thread, size, [&](OpBuilder &inside, Value row) {
            Value total = Place{state, {copy}}.load(inside, loc, row);
            getVector(sample, n).store(inside, loc, total, row);
          });
        });
  }

  /// (left, right) = (prefix, left product after prefix), with the prefix in
  /// the right element.
  void launchDownLevel(OpBuilder &builder, Value level) {
    launchLevel(
        builder, level, [&](OpBuilder &op, const LaunchedThread &thread, const Operands &at) {
          Value right = minIndex(op, loc, at.end, n);
          Place prefix = {thread.shared[0], {}}, target = getVector(at.sample, right);
          emitRows(op, loc, thread, size, [&](OpBuilder &nested, Value row) {
            prefix.store(nested, loc, target.load(nested, loc, row), row);
          });
          emitBarrier(op, loc);
          emitRows(op, loc, thread, size, [&](OpBuilder &nested, Value row) {
            emitIfElse(
                nested, at.isFirst,
                [&](OpBuilder &first) {
                  target.store(first, loc, getVector(at.sample, at.left).load(first, loc, row),
                               row);
                },
                [&](OpBuilder &other) {
                  Value value = emitApply(other, loc, maps, at.sample, at.left, prefix, row);
                  getVector(at.sample, at.left)
                      .store(other, loc, prefix.load(other, loc, row), row);
                  target.store(other, loc, value, row);
                });
          });
        });
  }

  /// Applies each link to the cotangent of its step, for what it emits. The last
  /// one's result is the cotangent of the initial states.
  void launchEmission(OpBuilder &builder) {
    Value last = addIndex(builder, loc, n, -1);
    emitting.launch(builder, mulIndex(builder, loc, numSamples, n),
                    [&](OpBuilder &nested, const LaunchedThread &thread) {
                      SmallVector<Value> digits =
                          splitIndex(nested, loc, thread.block, {Value(), n});
                      Value sample = digits[0], position = digits[1];
                      Value next = addIndex(nested, loc, position, 1);
                      emitting.walkFrom(nested, thread, sample, getVector(sample, next), position,
                                        next, isEqual(nested, loc, position, last));
                    });
  }

  CotangentLoop loop;
  MapWalks leaves;
  BlockWalk emitting;
  Location loc;
  int64_t size;
  Type element;
  int64_t numThreads;
  DeviceMaps maps = {};
  Value zero, one, n, numSamples, levels, vectors;
};
} // namespace

LogicalResult bppsa::launchTree(const CotangentLoop &loop, int64_t mostLevels,
                                TensorPrecision precision) {
  if (failed(verifyNoSums(loop.op)))
    return failure();
  FailureOr<MapWalks> leaves = MapWalks::create(loop, /*readAhead=*/false, precision);
  FailureOr<BlockWalk> walk = BlockWalk::create(loop, {}, /*readAhead=*/false);
  if (failed(leaves) || failed(walk))
    return failure();
  TreeLaunch(loop, std::move(*leaves), std::move(*walk)).launch(mostLevels);
  return success();
}

LogicalResult bppsa::launchChain(ChainOp op, TensorPrecision precision) {
  CotangentLoop loop = getCotangentLoop(op);
  PlanAttr plan = op.getPlan();
  if (plan.isSequential())
    return launchSequentially(loop);
  switch (plan.getAlgorithm()) {
  case ScanAlgorithm::Chunked:
    return launchChunked(loop, plan.getSize(), precision);
  case ScanAlgorithm::Hybrid:
    return launchTree(loop, plan.getSize(), precision);
  case ScanAlgorithm::Blelloch:
    return launchTree(loop, /*mostLevels=*/-1, precision);
  case ScanAlgorithm::Linear:
    break;
  }
  llvm_unreachable("unknown scan algorithm");
}
