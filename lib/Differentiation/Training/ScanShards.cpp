//===- ScanShards.cpp - scan cotangents of shards over ranks --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The cotangents of a shard's initial states are an affine map of those of its final states. All
// ranks compute these maps in parallel and scan them (BPPSA, Wang et al., MLSys 2020, with one
// shard as a link).
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "ShardExchanges.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <numeric>

namespace bppsa {
#define GEN_PASS_DEF_SCANSHARDS
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Sums of cotangents
//===----------------------------------------------------------------------===//

static dist::ShardLeaveOp findLeave(Value value) {
  if (auto leave = value.getDefiningOp<dist::ShardLeaveOp>())
    return leave.getTransposed() ? leave : dist::ShardLeaveOp();
  if (auto cast = value.getDefiningOp<tensor::CastOp>())
    return findLeave(cast.getSource());
  auto terms = matchAdd(value);
  if (!terms)
    return {};
  dist::ShardLeaveOp first = findLeave(terms->first);
  return first ? first : findLeave(terms->second);
}

static dist::ShardEnterOp findEnter(Value value, uint64_t channel) {
  for (Operation *user : value.getUsers()) {
    auto enter = dyn_cast<dist::ShardEnterOp>(user);
    if (enter && enter.getTransposed() && enter.getChannel() == channel)
      return enter;
    if (!isa<tensor::CastOp>(user) && (!isa<linalg::GenericOp>(user) ||
                                       user->getNumResults() != 1 || !matchAdd(user->getResult(0))))
      continue;
    if (dist::ShardEnterOp found = findEnter(user->getResult(0), channel))
      return found;
  }
  return {};
}

static Value replaceTerm(OpBuilder &builder, Value sum, Value term, Value other) {
  if (sum == term)
    return other;
  if (auto cast = sum.getDefiningOp<tensor::CastOp>()) {
    Value source = replaceTerm(builder, cast.getSource(), term, other);
    if (!source || source == cast.getSource())
      return source ? sum : Value();
    return tensor::CastOp::create(builder, cast.getLoc(), cast.getType(), source);
  }
  auto terms = matchAdd(sum);
  if (!terms)
    return sum;
  Value first = replaceTerm(builder, terms->first, term, other);
  Value second = replaceTerm(builder, terms->second, term, other);
  if (first == terms->first && second == terms->second)
    return sum;
  return first && second ? createAdd(builder, sum.getLoc(), first, second)
                         : (first ? first : second);
}

static bool areTermsBefore(Value sum, Value term, Operation *op) {
  if (sum == term)
    return true;
  if (auto cast = sum.getDefiningOp<tensor::CastOp>())
    return areTermsBefore(cast.getSource(), term, op);
  if (auto terms = matchAdd(sum))
    return areTermsBefore(terms->first, term, op) && areTermsBefore(terms->second, term, op);
  Operation *made = sum.getDefiningOp();
  return !made || made->isBeforeInBlock(op);
}

static bool hasSingleUseInSum(Value sum, Value term) {
  for (; term != sum; term = (*term.user_begin())->getResult(0))
    if (!term.hasOneUse())
      return false;
  return sum.hasOneUse();
}

static void eraseDead(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  llvm::for_each(operands, eraseDead);
}

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

namespace {
/// A chain over a shard of the steps, and the exchanges of its state cotangents.
struct SharedChain {
  ChainOp chain;
  SmallVector<dist::ShardLeaveOp> leaves;
  SmallVector<dist::ShardEnterOp> enters;
};

/// Replaces the exchanges of a chain with neighbouring ranks by a scan over all ranks.
class ChainScan {
public:
  explicit ChainScan(SharedChain given)
      : shared(std::move(given)), chain(shared.chain), builder(chain), loc(chain.getLoc()) {
    for (Value seed : chain.getSeeds())
      sizes.push_back(cast<RankedTensorType>(seed.getType()).getDimSize(1));
  }

  void run();

private:
  int64_t getOffset(size_t state) const {
    return std::accumulate(sizes.begin(), sizes.begin() + state, int64_t(0));
  }
  void cloneLinkInto(Region &region);
  Value createMap(OpFoldResult batch);
  Value createLocalCotangents(OpFoldResult batch);
  /// Returns `value` on the first rank and zeros on others, which have no initial state.
  Value keepOnFirst(Value value);

  SharedChain shared;
  ChainOp chain;
  OpBuilder builder;
  Location loc;
  /// Number of elements of each state.
  SmallVector<int64_t> sizes;
};
} // namespace

void ChainScan::cloneLinkInto(Region &region) {
  IRMapping mapping;
  chain.getBody().cloneInto(&region, mapping);
  yieldOnly(region.front(), 0, sizes.size());
}

Value ChainScan::createMap(OpFoldResult batch) {
  OpFoldResult all = builder.getIndexAttr(getOffset(sizes.size()));
  Value into = tensor::EmptyOp::create(builder, loc, ArrayRef{batch, all, all},
                                       getElementTypeOrSelf(chain.getSeeds().front()));
  auto map = TransitionOp::create(builder, loc, into.getType(), chain.getSaved(),
                                  /*injected=*/ValueRange(), chain.getCaptures(), into,
                                  /*injectInto=*/ArrayRef<int64_t>(), sizes, /*diagonal=*/false,
                                  /*byRows=*/false, chain.getReverse(), /*lanes=*/IntegerAttr());
  cloneLinkInto(map.getBody());
  return map.getResult();
}

Value ChainScan::createLocalCotangents(OpFoldResult batch) {
  SmallVector<Value> seeds;
  for (auto [seed, leave] : llvm::zip_equal(chain.getSeeds(), shared.leaves)) {
    Value own = replaceTerm(builder, seed, leave.getResult(), Value());
    seeds.push_back(own ? own : createZerosLike(builder, loc, leave.getOperand()));
  }
  ChainOptions options;
  options.reverse = chain.getReverse();
  auto run = ChainOp::create(builder, loc, chain.getCotangents().getTypes(),
                             /*emitted=*/TypeRange(), chain.getSaved(), seeds, chain.getInjected(),
                             chain.getInjectInto(), chain.getCaptures(), options);
  cloneLinkInto(run.getBody());
  Value joined = tensor::EmptyOp::create(
      builder, loc, ArrayRef{batch, OpFoldResult(builder.getIndexAttr(getOffset(sizes.size())))},
      getElementTypeOrSelf(chain.getSeeds().front()));
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    Value own = replaceTerm(builder, shared.enters[i].getOperand(), chain.getCotangents()[i],
                            run.getCotangents()[i]);
    if (sizes.size() == 1)
      return own;
    joined = tensor::InsertSliceOp::create(
        builder, loc, own, joined, ArrayRef{zero, OpFoldResult(builder.getIndexAttr(getOffset(i)))},
        ArrayRef{batch, OpFoldResult(builder.getIndexAttr(sizes[i]))}, ArrayRef{one, one});
  }
  return joined;
}

Value ChainScan::keepOnFirst(Value value) {
  Value first = dist::ShardFirstStepOp::create(builder, loc, builder.getIndexType());
  Value begin = arith::ConstantIndexOp::create(builder, loc, 0);
  if (chain.getReverse()) {
    Value own = tensor::DimOp::create(builder, loc, chain.getSaved().front(), 0);
    begin = dist::ShardAllStepsOp::create(builder, loc, builder.getIndexType(), own);
    first = arith::AddIOp::create(builder, loc, first, own);
  }
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, first, begin);
  auto type = cast<RankedTensorType>(value.getType());
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location, ValueRange elements) {
    Value zero = arith::ConstantOp::create(nested, loc, nested.getZeroAttr(type.getElementType()));
    Value kept = arith::SelectOp::create(nested, loc, isFirst, elements[0], zero);
    linalg::YieldOp::create(nested, loc, kept);
  };
  return linalg::GenericOp::create(builder, loc, TypeRange{type}, ValueRange{value},
                                   ValueRange{createEmptyLike(builder, loc, value)},
                                   ArrayRef{map, map}, iterators, body)
      .getResult(0);
}

void ChainScan::run() {
  OpFoldResult batch = tensor::getMixedSize(builder, loc, shared.leaves.front().getOperand(), 0);
  Value map = createMap(batch), own = createLocalCotangents(batch);
  Value behind = dist::ShardScanOp::create(builder, loc, own.getType(), map, own,
                                           /*destination=*/Value(), chain.getReverse(),
                                           shared.leaves.front().getChannel())
                     .getResult();
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  for (auto [i, leave] : llvm::enumerate(shared.leaves)) {
    Value entering = behind;
    auto type = cast<RankedTensorType>(leave.getResult().getType());
    if (sizes.size() > 1)
      entering = tensor::ExtractSliceOp::create(
          builder, loc, behind, ArrayRef{zero, OpFoldResult(builder.getIndexAttr(getOffset(i)))},
          ArrayRef{batch, OpFoldResult(builder.getIndexAttr(sizes[i]))}, ArrayRef{one, one});
    entering = builder.createOrFold<tensor::CastOp>(loc, type, entering);
    OpOperand &seed = chain.getSeedsMutable()[i];
    Value before = seed.get();
    seed.set(replaceTerm(builder, before, leave.getResult(), entering));
    eraseDead(before);
    leave.erase();
  }
  for (dist::ShardEnterOp enter : shared.enters) {
    builder.setInsertionPoint(enter);
    if (!enter.getResult().use_empty())
      enter.getResult().replaceAllUsesWith(keepOnFirst(enter.getOperand()));
    enter.erase();
  }
}

//===----------------------------------------------------------------------===//
// Order of exchanges
//===----------------------------------------------------------------------===//

static void moveUp(dist::ShardScanOp scan) {
  for (Operation *before = scan->getPrevNode(); before; before = before->getPrevNode()) {
    auto other = dyn_cast<dist::ShardScanOp>(before);
    if (isa<dist::ShardEnterOp, dist::ShardLeaveOp>(before) ||
        (other && other.getChannel() > scan.getChannel()))
      return;
    SetVector<Operation *> needed;
    if (!other)
      continue;
    if (!collectNeeded(scan, other, {scan}, needed))
      return;
    SmallVector<Operation *> moved = needed.takeVector();
    llvm::sort(moved, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : moved)
      op->moveBefore(other);
    before = scan;
  }
}

/// Sorts scans by descending channel, the order common to all ranks; ranks with late steps run
/// reversed loops first in the forward pass.
static LogicalResult orderScans(Block &block) {
  for (dist::ShardScanOp scan : llvm::to_vector(block.getOps<dist::ShardScanOp>()))
    moveUp(scan);
  std::optional<int64_t> last;
  for (dist::ShardScanOp scan : block.getOps<dist::ShardScanOp>()) {
    int64_t channel = scan.getChannel();
    if (last && channel > *last)
      return refuseOp(scan) << "of channel " << channel << " runs before channel " << *last
                            << " on other ranks, but needs it here; remove --scan-shards";
    last = channel;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static LogicalResult matchChain(ChainOp chain, SmallVectorImpl<SharedChain> &found) {
  SharedChain shared{chain, {}, {}};
  for (auto [seed, cotangent] : llvm::zip(chain.getSeeds(), chain.getCotangents())) {
    dist::ShardLeaveOp leave = findLeave(seed);
    if (!leave)
      continue;
    dist::ShardEnterOp enter = findEnter(cotangent, leave.getChannel());
    if (!enter || !areTermsBefore(enter.getOperand(), cotangent, chain) ||
        !hasSingleUseInSum(seed, leave.getResult()))
      break;
    shared.leaves.push_back(leave);
    shared.enters.push_back(enter);
  }
  bool exchanges = llvm::any_of(chain.getSeeds(), [](Value seed) { return findLeave(seed); });
  if (!exchanges)
    return success();
  if (chain.isGraphForm())
    return refuseOp(chain,
                    "has a graph as its link, which ranks cannot scan; remove --scan-shards");
  if (shared.leaves.size() != chain.getSeeds().size())
    return refuseOp(chain) << "needs cotangents of all " << chain.getSeeds().size()
                           << " states that come from the next rank and go to the previous rank, "
                              "found cotangents of "
                           << shared.leaves.size() << "; remove --scan-shards";
  found.push_back(std::move(shared));
  return success();
}

namespace {
struct ScanShardsPass : public bppsa::impl::ScanShardsBase<ScanShardsPass> {
  using ScanShardsBase::ScanShardsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<func::FuncOp>> shards = requireEntries(module, EntryRole::Shard);
    if (failed(shards))
      return signalPassFailure();
    llvm::append_range(*shards, findEntries(module, EntryRole::LateShard));
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(shards->back());
    for (func::FuncOp shard : *shards) {
      EntryAttr entry = attrs::Entry::of(shard);
      bool isLate = entry.getRole() == EntryRole::LateShard;
      auto copy = cast<func::FuncOp>(builder.clone(*shard));
      setEntry(copy, entry.withRole(isLate ? EntryRole::ScanLateShard : EntryRole::ScanShard));
      if (failed(scan(copy)))
        return signalPassFailure();
    }
  }

private:
  static LogicalResult scan(func::FuncOp function) {
    SmallVector<SharedChain> shared;
    for (ChainOp chain : function.getOps<ChainOp>())
      if (failed(matchChain(chain, shared)))
        return failure();
    if (shared.empty())
      return refuse(function) << "needs a chain whose cotangents come from the next rank, found "
                                 "none; run bppsa-shard-time and bppsa-differentiate";
    for (const SharedChain &chain : shared)
      ChainScan(chain).run();
    return orderScans(function.front());
  }
};
} // namespace
