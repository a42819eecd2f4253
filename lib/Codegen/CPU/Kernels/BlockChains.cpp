//===- BlockChains.cpp - block chains and large sums over time ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Running sums and emitted values of large chains leave the caches. This pass computes the sums for
// a block of steps at a time, directly after the chain's block, and stops once the cotangents are
// zero.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "LargeSums.h"
#include "Slices.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/Analysis/VanishingValues.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_BLOCKCHAINS
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static constexpr int64_t kStepDim = 1;

/// Maximum steps of a block; any nonzero cotangent in it causes all its steps to be summed.
static constexpr int64_t kMaxSteps = 256;

/// Minimum terms of a product; with fewer, reading and writing the result dominates.
static constexpr int64_t kMinTerms = 512;

/// Minimum elements of a sum over units that is worth a loop over blocks.
static constexpr int64_t kMinElements = 256;

namespace {
/// A chain and the following sums of its emitted values.
class ChainBlocks {
public:
  ChainBlocks(ChainOp chain, int64_t minBytes, int64_t bytes);

  /// Returns true if one of the sums is large. Over units, zero cotangents do not end sums early.
  bool isWorthBlocks() {
    bool lanesHoldUnits = chain.getLanes() == 1;
    return llvm::any_of(sums, [&](Operation *sum) {
      auto type = cast<MemRefType>(sum->getOperands().back().getType());
      return lanesHoldUnits ? type.getNumElements() >= kMinElements : isLarge(sum);
    });
  }
  void emit();

private:
  ValueRange getEmitted() { return chain.getDestinations().drop_front(chain.getSeeds().size()); }
  bool isLarge(Operation *sum) const {
    auto outer = dyn_cast<OuterSumOp>(sum);
    return outer && isLargeSum(outer, minBytes);
  }
  bool isLocal(Value root) const;
  bool endsWithZero();
  Value emitLength(OpBuilder &builder);
  Value emitWindow(OpBuilder &builder, Value array, Value first, Value count) const;
  Value emitIsActive(OpBuilder &builder, ValueRange seeds) const;
  void emitChain(OpBuilder &builder, ValueRange seeds, Value first, Value count);
  void emitSum(OpBuilder &builder, Operation *sum, Value first, Value count, bool goesOn) const;
  void emitWhole(OpBuilder &builder, Value steps);
  void emitBlocks(OpBuilder &builder, Value steps, Value length);
  void emitBlock(OpBuilder &builder, ValueRange seeds, Value first, Value count);

  ChainOp chain;
  Location loc;
  int64_t minBytes, bytes;
  SmallVector<Operation *> sums;
  llvm::MapVector<Value, Value> buffers;
  DenseMap<Operation *, Value> parts;
};
} // namespace

ChainBlocks::ChainBlocks(ChainOp chain, int64_t minBytes, int64_t bytes)
    : chain(chain), loc(chain.getLoc()), minBytes(minBytes), bytes(bytes) {
  for (Value emitted : getEmitted())
    buffers.insert({getViewRoot(emitted), Value()});
  sums = findSumsAfter(chain, [&](Operation *op) {
    return isa<OuterSumOp, StepSumOp>(op) && llvm::any_of(getSummed(op), [&](Value array) {
             return buffers.contains(getViewRoot(array));
           });
  });
}

//===----------------------------------------------------------------------===//
// Steps of arrays
//===----------------------------------------------------------------------===//

static bool isWindow(Value view) {
  auto slice = view.getDefiningOp<memref::SubViewOp>();
  return slice && slice.hasUnitStride() && slice.getType().getRank() == 4 &&
         slice.getSourceType().getRank() == 4 &&
         isConstantIntValue(slice.getMixedOffsets()[kStepDim], 0);
}

bool ChainBlocks::isLocal(Value root) const {
  auto memory = root.getDefiningOp<memref::AllocOp>();
  if (!memory || memory->getBlock() != chain->getBlock())
    return false;
  SmallVector<Operation *> users(memory->getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (user == chain || llvm::is_contained(sums, user) || isa<memref::DeallocOp>(user))
      continue;
    if (user->getNumResults() != 1 || !isWindow(user->getResult(0)))
      return false;
    llvm::append_range(users, user->getUsers());
  }
  return true;
}

Value ChainBlocks::emitWindow(OpBuilder &builder, Value array, Value first, Value count) const {
  Value buffer = buffers.lookup(getViewRoot(array));
  if (!buffer)
    return emitSlice(builder, loc, array, kStepDim, first, count);
  if (auto slice = array.getDefiningOp<memref::SubViewOp>()) {
    Value source = emitWindow(builder, slice.getSource(), first, count);
    SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
    sizes[kStepDim] = count;
    return memref::SubViewOp::create(builder, loc, source, slice.getMixedOffsets(), sizes,
                                     slice.getMixedStrides());
  }
  return emitSlice(builder, loc, buffer, kStepDim, builder.getIndexAttr(0), count);
}

/// Returns the number of steps per block: as many as fit `bytes`, but enough for kMinTerms terms.
Value ChainBlocks::emitLength(OpBuilder &builder) {
  SetVector<Value> arrays;
  for (Operation *sum : sums)
    for (Value array : getSummed(sum))
      arrays.insert(buffers.contains(getViewRoot(array)) ? getViewRoot(array) : array);
  Value ofStep = getIndex(builder, loc, 1);
  for (Value array : arrays)
    ofStep = addIndex(builder, loc, ofStep, emitStepBytes(builder, loc, array, kStepDim));
  int64_t most = chain.getLanes() == 1 ? 2 * bytes : bytes;
  Value length = arith::DivUIOp::create(builder, loc, getIndex(builder, loc, most), ofStep);
  int64_t lanes = *chain.getLanes();
  Value rows = getSize(builder, loc, chain.getSaved().front(), 0);
  Value least =
      arith::CeilDivUIOp::create(builder, loc, getIndex(builder, loc, kMinTerms / lanes), rows);
  length = arith::MaxUIOp::create(builder, loc, length, least);
  return minIndex(builder, loc, length, getIndex(builder, loc, kMaxSteps));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool ChainBlocks::endsWithZero() {
  if (!chain.getInjected().empty())
    return false;
  std::optional<SmallVector<bool>> vanish = findVanishingEmitted(getCotangentLoop(chain));
  return vanish && llvm::all_of(*vanish, [](bool vanishes) { return vanishes; });
}

Value ChainBlocks::emitIsActive(OpBuilder &builder, ValueRange seeds) const {
  Value isActive;
  for (Value seed : seeds) {
    auto type = cast<MemRefType>(seed.getType());
    auto most = MemRefType::get({}, type.getElementType());
    Value memory = memref::AllocOp::create(builder, loc, most);
    emitZeros(builder, loc, memory);
    AffineMap maps[] = {AffineMap::getMultiDimIdentityMap(type.getRank(), builder.getContext()),
                        AffineMap::get(type.getRank(), 0, builder.getContext())};
    SmallVector<utils::IteratorType> kinds(type.getRank(), utils::IteratorType::reduction);
    linalg::GenericOp::create(builder, loc, seed, memory, maps, kinds,
                              [](OpBuilder &nested, Location at, ValueRange values) {
                                Value size = math::AbsFOp::create(nested, at, values[0]);
                                Value most = arith::MaximumFOp::create(nested, at, size, values[1]);
                                linalg::YieldOp::create(nested, at, most);
                              });
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
    Value found = memref::LoadOp::create(builder, loc, memory);
    memref::DeallocOp::create(builder, loc, memory);
    // True for NaN, too.
    found = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, found, zero);
    isActive = isActive ? arith::OrIOp::create(builder, loc, isActive, found) : found;
  }
  return isActive;
}

void ChainBlocks::emitChain(OpBuilder &builder, ValueRange seeds, Value first, Value count) {
  IRMapping mapping;
  auto map = [&](ValueRange arrays) {
    for (Value array : arrays)
      mapping.map(array, emitWindow(builder, array, first, count));
  };
  map(chain.getSaved());
  map(chain.getInjected());
  map(getEmitted());
  cast<ChainOp>(builder.clone(*chain, mapping)).getSeedsMutable().assign(seeds);
}

void ChainBlocks::emitSum(OpBuilder &builder, Operation *sum, Value first, Value count,
                          bool goesOn) const {
  SmallVector<Value> windows;
  for (Value array : getSummed(sum))
    windows.push_back(emitWindow(builder, array, first, count));
  Value result = sum->getOperands().back(), part = parts.lookup(sum);
  if (isLarge(sum)) {
    if (!goesOn)
      emitZeros(builder, loc, result);
    return addProducts(builder, cast<OuterSumOp>(sum), windows[0], windows[1]);
  }
  IRMapping mapping;
  mapping.map(getSummed(sum), windows);
  if (goesOn)
    mapping.map(result, part);
  builder.clone(*sum, mapping);
  if (goesOn)
    linalg::AddOp::create(builder, loc, ValueRange{result, part}, ValueRange{result});
}

void ChainBlocks::emitBlock(OpBuilder &builder, ValueRange seeds, Value first, Value count) {
  ValueRange cotangents = chain.getDestinations().take_front(seeds.size());
  for (auto [cotangent, seed] : llvm::zip_equal(cotangents, seeds))
    memref::CopyOp::create(builder, loc, cotangent, seed);
  Value isActive = endsWithZero() ? emitIsActive(builder, seeds) : Value();
  emitChain(builder, seeds, first, count);
  auto emitSums = [&](OpBuilder &nested, Location) {
    for (Operation *sum : sums)
      emitSum(nested, sum, first, count, /*goesOn=*/true);
    if (isActive)
      scf::YieldOp::create(nested, loc);
  };
  if (isActive)
    scf::IfOp::create(builder, loc, isActive, emitSums);
  else
    emitSums(builder, loc);
}

void ChainBlocks::emitBlocks(OpBuilder &builder, Value steps, Value length) {
  SmallVector<Value> seeds;
  ValueRange cotangents = chain.getDestinations().take_front(chain.getSeeds().size());
  for (auto [seed, cotangent] : llvm::zip_equal(chain.getSeeds(), cotangents)) {
    seeds.push_back(
        allocateLike(builder, loc, cotangent, /*dim=*/0, getSize(builder, loc, cotangent, 0)));
    memref::CopyOp::create(builder, loc, seed, cotangent);
  }
  for (Operation *sum : sums) {
    Value result = sum->getOperands().back();
    auto type = cast<MemRefType>(result.getType());
    emitZeros(builder, loc, result);
    if (!isLarge(sum))
      parts[sum] = memref::AllocOp::create(builder, loc,
                                           MemRefType::get(type.getShape(), type.getElementType()),
                                           builder.getI64IntegerAttr(64));
  }
  scf::ForOp::create(builder, loc, getIndex(builder, loc, 0), steps, length, ValueRange(),
                     [&](OpBuilder &nested, Location, Value done, ValueRange) {
                       Value left = arith::SubIOp::create(nested, loc, steps, done);
                       Value count = minIndex(nested, loc, left, length);
                       Value first = done;
                       if (!chain.getReverse())
                         first = arith::SubIOp::create(nested, loc, left, count);
                       emitBlock(nested, seeds, first, count);
                       scf::YieldOp::create(nested, loc);
                     });
  for (Value seed : seeds)
    memref::DeallocOp::create(builder, loc, seed);
  for (Operation *sum : sums)
    if (Value part = parts.lookup(sum))
      memref::DeallocOp::create(builder, loc, part);
}

void ChainBlocks::emitWhole(OpBuilder &builder, Value steps) {
  Value first = getIndex(builder, loc, 0);
  emitChain(builder, chain.getSeeds(), first, steps);
  for (Operation *sum : sums)
    emitSum(builder, sum, first, steps, /*goesOn=*/false);
}

void ChainBlocks::emit() {
  llvm::erase_if(sums, [&](Operation *sum) {
    return !llvm::all_of(sum->getOperands(),
                         [&](Value value) { return hoistBefore(chain, value); });
  });
  OpBuilder builder(chain);
  Value steps = getSize(builder, loc, chain.getSaved().front(), kStepDim);
  Value length = emitLength(builder);
  // With two blocks, accumulation costs more than the gain.
  Value most = mulIndex(builder, loc, length, getIndex(builder, loc, 2));
  SmallVector<Value> locals;
  for (auto &[root, buffer] : buffers)
    if (isLocal(root)) {
      locals.push_back(root);
      buffer = allocateLike(builder, loc, root, kStepDim, minIndex(builder, loc, most, steps));
    }
  Value isShort = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, steps, most);
  scf::IfOp::create(
      builder, loc, isShort,
      [&](OpBuilder &then, Location) {
        emitWhole(then, steps);
        scf::YieldOp::create(then, loc);
      },
      [&](OpBuilder &otherwise, Location) {
        emitBlocks(otherwise, steps, length);
        scf::YieldOp::create(otherwise, loc);
      });
  for (Value root : locals)
    memref::DeallocOp::create(builder, loc, buffers.lookup(root));
  llvm::for_each(sums, [](Operation *sum) { sum->erase(); });
  chain.erase();
  for (Value root : locals)
    eraseMemory(root.getDefiningOp());
}

namespace {
struct BlockChains : public bppsa::impl::BlockChainsBase<BlockChains> {
  using BlockChainsBase::BlockChainsBase;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    bool hasForwardLoop = false, hasReverseLoop = false;
    for (auto chain : getOperation().getOps<ChainOp>()) {
      (chain.getReverse() ? hasForwardLoop : hasReverseLoop) = true;
      if (chain->getNumResults() == 0 && chain.getLanes() && !chain.getSteps() &&
          !chain.getSeeds().empty() && !chain.getSaved().empty() && chain.getPlan().isSequential())
        chains.push_back(chain);
    }
    // Loops of both directions run in parallel.
    if (hasForwardLoop && hasReverseLoop)
      return;
    for (ChainOp chain : chains) {
      ChainBlocks blocks(chain, minBytes, bytes);
      if (!blocks.isWorthBlocks())
        continue;
      blocks.emit();
      ++numChains;
    }
  }
};
} // namespace
