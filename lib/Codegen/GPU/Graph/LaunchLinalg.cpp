//===- LaunchLinalg.cpp - launches of linalg operations -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One thread per element of the result runs the reductions; if they are long or of unknown length,
// a block folds each element in a tree of fixed shape.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "GraphToGPU.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

/// Minimum terms of a reduction that a block shares, and threads of that block. A single block,
/// such as for the squares of all gradients, has more threads.
static constexpr int64_t kLongReduction = 1024, kReductionThreads = 128, kOnlyBlockThreads = 512;

static bool isPointwise(linalg::LinalgOp op) {
  SmallVector<unsigned> reduction;
  op.getReductionDims(reduction);
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    return map.isProjectedPermutation() &&
           llvm::none_of(reduction, [&](unsigned dim) { return map.isFunctionOfDim(dim); });
  });
}

/// Returns the fills before `op` with whose values its threads can start: fills of whole outputs
/// whose elements belong to one thread each.
static SmallVector<linalg::FillOp> findFills(linalg::LinalgOp op) {
  SmallVector<linalg::FillOp> fills;
  if (isa<linalg::FillOp>(op) || !isPointwise(op))
    return fills;
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    auto fill = dyn_cast<linalg::FillOp>(before);
    if (fill && llvm::is_contained(op.getDpsInits(), fill.getDpsInits().front()))
      fills.push_back(fill);
    else if (!isMemoryEffectFree(before))
      break;
  }
  return fills;
}

bool bppsa::isFolded(linalg::FillOp fill) {
  for (Operation *op = fill->getNextNode(); op; op = op->getNextNode())
    if (auto graph = dyn_cast<linalg::LinalgOp>(op); graph && !isa<linalg::FillOp>(op))
      return llvm::is_contained(findFills(graph), fill);
  return false;
}

namespace {
class LinalgLaunch {
public:
  explicit LinalgLaunch(linalg::LinalgOp op)
      : op(op), loc(op.getLoc()), body(&op->getRegion(0).front()) {}

  void launch() {
    OpBuilder builder(op);
    for (Range range : op.createLoopRanges(builder, loc))
      sizes.push_back(getValueOrCreateConstantIndexOp(builder, loc, range.size));
    op.getParallelDims(parallel);
    op.getReductionDims(reduction);
    if (!isPointwise(op))
      return launchWindows(builder);
    for (linalg::FillOp fill : findFills(op)) {
      filled[fill.getDpsInits().front()] = fill.getInputs().front();
      fill.erase();
    }
    Value count = getProduct(builder, parallel);
    if (Operation *combiner = findCombiner(); combiner && isLong())
      return launchBlocks(builder, count, combiner);
    emitForEachThread(builder, loc, count, [&](OpBuilder &nested, Value number) {
      SmallVector<Value> ivs(sizes.size());
      setIndices(nested, number, parallel, ivs);
      store(nested, ivs, fold(nested, ivs, loadOutputs(nested, ivs), reduction));
    });
  }

private:
  SmallVector<unsigned> findDisjointLoops() {
    SmallVector<unsigned> dims;
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &operand) {
            return llvm::is_contained(op.getMatchingIndexingMap(&operand).getResults(),
                                      getAffineDimExpr(dim, op.getContext()));
          }))
        dims.push_back(dim);
    return dims;
  }

  /// Emits outputs that are written through windows, such as the cotangent of a convolution's
  /// input. One thread runs all iterations that may write the same element, in order.
  void launchWindows(OpBuilder &builder) {
    SmallVector<unsigned> disjoint = findDisjointLoops(), rest;
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      if (!llvm::is_contained(disjoint, dim))
        rest.push_back(dim);
    emitForEachThread(builder, loc, getProduct(builder, disjoint),
                      [&](OpBuilder &nested, Value number) {
                        SmallVector<Value> ivs(sizes.size());
                        setIndices(nested, number, disjoint, ivs);
                        walkWindows(nested, ivs, rest);
                      });
  }

  void walkWindows(OpBuilder &builder, SmallVector<Value> ivs, ArrayRef<unsigned> dims) {
    if (dims.empty())
      return store(builder, ivs, emitBody(builder, ivs, loadOutputs(builder, ivs)));
    emitLoop(builder, loc, getIndex(builder, loc, 0), sizes[dims.front()],
             [&](OpBuilder &nested, Value iv) {
               ivs[dims.front()] = iv;
               walkWindows(nested, ivs, dims.drop_front());
             });
  }

  Value getProduct(OpBuilder &builder, ArrayRef<unsigned> dims) {
    Value count = getIndex(builder, loc, 1);
    for (unsigned dim : dims)
      count = mulIndex(builder, loc, count, sizes[dim]);
    return count;
  }

  void setIndices(OpBuilder &builder, Value number, ArrayRef<unsigned> dims,
                  MutableArrayRef<Value> ivs) {
    SmallVector<Value> bases;
    for (unsigned dim : dims)
      bases.push_back(sizes[dim]);
    for (auto [dim, digit] : llvm::zip(dims, splitIndex(builder, loc, number, bases)))
      ivs[dim] = digit;
  }

  bool isLong() {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    int64_t terms = 1;
    for (unsigned dim : reduction) {
      if (ShapedType::isDynamic(ranges[dim]))
        return true;
      terms *= ranges[dim];
    }
    return terms >= kLongReduction;
  }

  /// Returns the combiner of a reduction whose parts can be folded separately, or null.
  Operation *findCombiner() {
    if (reduction.empty() || op.getNumDpsInits() != 1)
      return nullptr;
    SmallVector<Operation *> combiners;
    BlockArgument output = body->getArguments().back();
    if (!matchReduction({output}, 0, combiners) || combiners.size() != 1)
      return nullptr;
    // Only the combiner may read the running result.
    if (!output.hasOneUse() || !arith::getNeutralElement(combiners[0]))
      return nullptr;
    return combiners[0];
  }

  SmallVector<Value> getOperandIndices(OpBuilder &builder, OpOperand &operand, ValueRange ivs) {
    SmallVector<Value> indices;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (AffineExpr result : map.getResults()) {
      AffineMap single = AffineMap::get(map.getNumDims(), 0, result, map.getContext());
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        indices.push_back(ivs[dim.getPosition()]);
      else
        indices.push_back(affine::AffineApplyOp::create(builder, loc, single, ivs));
    }
    return indices;
  }

  SmallVector<Value> loadOutputs(OpBuilder &builder, ArrayRef<Value> ivs) {
    SmallVector<Value> values;
    for (OpOperand &operand : op.getDpsInitsMutable()) {
      if (Value value = filled.lookup(operand.get())) {
        values.push_back(value);
        continue;
      }
      auto argument = op.getMatchingBlockArgument(&operand);
      Type type = argument.getType();
      values.push_back(
          argument.use_empty() && reduction.empty()
              ? arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)).getResult()
              : memref::LoadOp::create(builder, loc, operand.get(),
                                       getOperandIndices(builder, operand, getAll(builder, ivs)))
                    .getResult());
    }
    return values;
  }

  SmallVector<Value> getAll(OpBuilder &builder, ArrayRef<Value> ivs) {
    SmallVector<Value> all(ivs);
    for (Value &iv : all)
      if (!iv)
        iv = getIndex(builder, loc, 0);
    return all;
  }

  void store(OpBuilder &builder, ArrayRef<Value> ivs, ArrayRef<Value> values) {
    for (auto [operand, value] : llvm::zip(op.getDpsInitsMutable(), values))
      memref::StoreOp::create(builder, loc, value, operand.get(),
                              getOperandIndices(builder, operand, getAll(builder, ivs)));
  }

  SmallVector<Value> fold(OpBuilder &builder, SmallVector<Value> ivs, SmallVector<Value> values,
                          ArrayRef<unsigned> dims) {
    if (dims.empty())
      return emitBody(builder, ivs, values);
    return emitFold(builder, loc, getIndex(builder, loc, 0), sizes[dims.front()], values,
                    [&](OpBuilder &nested, Value iv, ValueRange running) {
                      ivs[dims.front()] = iv;
                      return fold(nested, ivs, llvm::to_vector(running), dims.drop_front());
                    });
  }

  SmallVector<Value> emitBody(OpBuilder &builder, ArrayRef<Value> ivs, ArrayRef<Value> outputs) {
    IRMapping mapping;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(operand);
      if (argument.use_empty())
        continue;
      Value value = operand->get();
      if (isa<MemRefType>(value.getType()))
        value =
            memref::LoadOp::create(builder, loc, value, getOperandIndices(builder, *operand, ivs));
      mapping.map(argument, value);
    }
    for (auto [argument, value] :
         llvm::zip(body->getArguments().take_back(outputs.size()), outputs))
      mapping.map(argument, value);
    for (Operation &inner : body->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(), ivs[index.getDim()]);
      else
        builder.clone(inner, mapping);
    }
    SmallVector<Value> results;
    for (Value yielded : body->getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(yielded));
    return results;
  }

  void launchBlocks(OpBuilder &builder, Value count, Operation *combiner) {
    Value terms = getProduct(builder, reduction);
    Type type = combiner->getResult(0).getType();
    int64_t numThreads = parallel.empty() ? kOnlyBlockThreads : kReductionThreads;
    emitLaunch(builder, loc, count, numThreads, MemRefType::get({numThreads}, type),
               [&](OpBuilder &nested, const LaunchedThread &thread) {
                 SmallVector<Value> ivs(sizes.size());
                 setIndices(nested, thread.block, parallel, ivs);
                 Value part = foldPart(nested, thread, terms, ivs, combiner);
                 memref::StoreOp::create(nested, loc, part, thread.shared[0], thread.thread);
                 foldParts(nested, thread, combiner);
                 Value isFirst = isEqual(nested, loc, thread.thread, getIndex(nested, loc, 0));
                 emitIf(nested, loc, isFirst, [&](OpBuilder &first) {
                   Value total = memref::LoadOp::create(first, loc, thread.shared[0],
                                                        getIndex(first, loc, 0));
                   Value before = loadOutputs(first, ivs).front();
                   store(first, ivs, combine(first, combiner, before, total));
                 });
               });
  }

  Value foldPart(OpBuilder &builder, const LaunchedThread &thread, Value terms,
                 SmallVector<Value> ivs, Operation *combiner) {
    Value neutral = arith::ConstantOp::create(builder, loc, *arith::getNeutralElement(combiner));
    auto loop = scf::ForOp::create(
        builder, loc, thread.thread, terms, getIndex(builder, loc, thread.numThreads), neutral,
        [&](OpBuilder &nested, Location, Value number, ValueRange running) {
          setIndices(nested, number, reduction, ivs);
          scf::YieldOp::create(nested, loc, emitBody(nested, ivs, running[0]));
        });
    return loop.getResult(0);
  }

  void foldParts(OpBuilder &builder, const LaunchedThread &thread, Operation *combiner) {
    for (int64_t half = thread.numThreads / 2; half > 0; half /= 2) {
      emitBarrier(builder, loc);
      Value bound = getIndex(builder, loc, half);
      emitIf(builder, loc, isBelow(builder, loc, thread.thread, bound), [&](OpBuilder &nested) {
        Value other = addIndex(nested, loc, thread.thread, bound);
        Value left = memref::LoadOp::create(nested, loc, thread.shared[0], thread.thread);
        Value right = memref::LoadOp::create(nested, loc, thread.shared[0], other);
        memref::StoreOp::create(nested, loc, combine(nested, combiner, left, right),
                                thread.shared[0], thread.thread);
      });
    }
  }

  Value combine(OpBuilder &builder, Operation *combiner, Value left, Value right) {
    IRMapping mapping;
    mapping.map(combiner->getOperand(0), left);
    mapping.map(combiner->getOperand(1), right);
    return builder.clone(*combiner, mapping)->getResult(0);
  }

  linalg::LinalgOp op;
  Location loc;
  Block *body;
  SmallVector<Value> sizes;
  SmallVector<unsigned> parallel, reduction;
  DenseMap<Value, Value> filled;
};
} // namespace

void bppsa::launchLinalg(linalg::LinalgOp op) { LinalgLaunch(op).launch(); }
