//===- JoinEmitted.cpp - join emitted arrays ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Each gate of a cell has a cotangent and an outer sum with the inputs. If the cotangents are rows
// of one array, these sums are one product, which packs the right operand once.
//
//===----------------------------------------------------------------------===//

#include "Slices.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/MemoryAccesses.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_JOINEMITTED
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
using SumGroup = SmallVector<OuterSumOp>;

/// The arrays of one type that a chain emits, and the outer sums that read them.
class EmittedArrays {
public:
  EmittedArrays(ChainOp chain, int64_t minBytes);

  bool canJoin() const {
    return llvm::any_of(groups, [](const SumGroup &group) { return group.size() > 1; });
  }
  void join();

private:
  void collectArrays(int64_t minBytes);
  void collectGroups();
  void sortArrays();
  Value createJoined();

  ChainOp chain;
  SmallVector<memref::AllocOp> arrays;
  SmallVector<SumGroup> groups;
};
} // namespace

static bool canBeRows(memref::AllocOp array, ChainOp chain) {
  return llvm::all_of(array->getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() != chain->getBlock())
      return false;
    if (isa<OuterSumOp>(user))
      return use.getOperandNumber() == 0;
    if (auto loop = dyn_cast<RecurrenceOp>(user))
      return llvm::is_contained(loop.getSequences(), use.get()) &&
             !llvm::is_contained(loop.getDestinations(), use.get());
    return user == chain || isa<StepSumOp, memref::DeallocOp>(user);
  });
}

static bool isUnchanged(Value array, Operation *first, Operation *last) {
  Value root = getViewRoot(array);
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (getWrittenArrays(op).contains(root))
      return false;
  return true;
}

EmittedArrays::EmittedArrays(ChainOp chain, int64_t minBytes) : chain(chain) {
  collectArrays(minBytes);
  if (arrays.size() < 2)
    return;
  collectGroups();
  sortArrays();
}

void EmittedArrays::collectArrays(int64_t minBytes) {
  auto isLargeSum = [&](Operation *user) {
    return isa<OuterSumOp>(user) && getRunningSumBytes(user) >= minBytes;
  };
  for (Value emitted : chain.getDestinations().drop_front(chain.getSeeds().size())) {
    auto array = emitted.getDefiningOp<memref::AllocOp>();
    if (array && array->getBlock() == chain->getBlock() && canBeRows(array, chain) &&
        llvm::any_of(array->getUsers(), isLargeSum) &&
        (arrays.empty() || array.getType() == arrays.front().getType()))
      arrays.push_back(array);
  }
}

void EmittedArrays::collectGroups() {
  llvm::MapVector<std::pair<Value, Value>, SumGroup> byOperand;
  for (Operation *op = chain->getNextNode(); op; op = op->getNextNode()) {
    auto sum = dyn_cast<OuterSumOp>(op);
    if (!sum || !llvm::is_contained(arrays, sum.getLhs().getDefiningOp()))
      continue;
    SumGroup &group = byOperand[{sum.getRhs(), sum.getBatch()}];
    bool hasArray =
        llvm::any_of(group, [&](OuterSumOp other) { return other.getLhs() == sum.getLhs(); });
    if (group.empty() || (!hasArray && isUnchanged(sum.getRhs(), group.front(), sum)))
      group.push_back(sum);
  }
  for (auto &[operand, group] : byOperand)
    groups.push_back(std::move(group));
  auto isSmaller = [](const SumGroup &a, const SumGroup &b) { return a.size() < b.size(); };
  for (auto next = groups.begin(); next != groups.end(); ++next)
    std::iter_swap(next, std::max_element(next, groups.end(), isSmaller));
}

/// Orders arrays so that the arrays of each of the two largest groups are adjacent.
void EmittedArrays::sortArrays() {
  auto isOf = [&](memref::AllocOp array, size_t number) {
    return number < groups.size() &&
           llvm::any_of(
               groups[number], [&](OuterSumOp sum) { return sum.getLhs() == array.getResult(); });
  };
  auto getPlace = [&](memref::AllocOp array) {
    bool first = isOf(array, 0), second = isOf(array, 1);
    return first ? (second ? 1 : 0) : (second ? 2 : 3);
  };
  SmallVector<memref::AllocOp> sorted;
  for (int place : {0, 1, 2, 3})
    llvm::copy_if(arrays, std::back_inserter(sorted),
                  [&](memref::AllocOp array) { return getPlace(array) == place; });
  arrays = std::move(sorted);
}

static Value emitRows(OpBuilder &builder, Location loc, Value array, int64_t dim, int64_t first,
                      int64_t count) {
  return emitSlice(builder, loc, array, dim, builder.getIndexAttr(first),
                   builder.getIndexAttr(count));
}

Value EmittedArrays::createJoined() {
  memref::AllocOp first = arrays.front();
  Operation *lastFree = nullptr;
  SmallVector<Operation *> frees;
  for (memref::AllocOp array : arrays) {
    if (array->isBeforeInBlock(first))
      first = array;
    llvm::copy_if(array->getUsers(), std::back_inserter(frees), llvm::IsaPred<memref::DeallocOp>);
  }
  for (Operation *free : frees)
    if (!lastFree || lastFree->isBeforeInBlock(free))
      lastFree = free;
  MemRefType type = first.getType();
  int64_t rows = type.getDimSize(2);
  SmallVector<int64_t> shape(type.getShape());
  shape[2] = rows * arrays.size();
  Location loc = chain.getLoc();
  OpBuilder builder(first);
  auto joined = memref::AllocOp::create(builder, loc, MemRefType::get(shape, type.getElementType()),
                                        first.getDynamicSizes(), first.getAlignmentAttr());
  for (auto [i, array] : llvm::enumerate(arrays))
    array.getResult().replaceUsesWithIf(
        emitRows(builder, loc, joined, /*dim=*/2, rows * i, rows),
        [](OpOperand &use) { return !isa<memref::DeallocOp>(use.getOwner()); });
  if (lastFree)
    memref::DeallocOp::create(builder, loc, joined)->moveBefore(lastFree);
  llvm::for_each(frees, [](Operation *free) { free->erase(); });
  llvm::for_each(arrays, [](memref::AllocOp array) { array->erase(); });
  return joined;
}

/// Replaces sums of adjacent arrays with one sum before the first of them.
static void joinSums(ArrayRef<OuterSumOp> sums, Value joined, int64_t firstArray) {
  OuterSumOp first = sums.front();
  for (OuterSumOp sum : sums)
    if (sum->isBeforeInBlock(first))
      first = sum;
  Location loc = first.getLoc();
  OpBuilder builder(first);
  auto type = cast<MemRefType>(first.getDestination().getType());
  int64_t rows = type.getDimSize(0), count = rows * sums.size();
  Value result = memref::AllocOp::create(
      builder, loc, MemRefType::get({count, type.getDimSize(1)}, type.getElementType()));
  auto joinedSum = cast<OuterSumOp>(builder.clone(*first));
  joinedSum.getLhsMutable().assign(
      emitRows(builder, loc, joined, /*dim=*/2, rows * firstArray, count));
  joinedSum->moveAfter(joinedSum.getLhs().getDefiningOp());
  joinedSum.getDestinationMutable().assign(result);
  Operation *last = joinedSum;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    OuterSumOp old = sum;
    builder.setInsertionPoint(old);
    Operation *copy = memref::CopyOp::create(
        builder, loc, emitRows(builder, loc, result, /*dim=*/0, rows * i, rows),
        old.getDestination());
    if (last->isBeforeInBlock(copy))
      last = copy;
  }
  builder.setInsertionPointAfter(last);
  memref::DeallocOp::create(builder, loc, result);
  for (OuterSumOp old : sums)
    old.erase();
}

void EmittedArrays::join() {
  SmallVector<SmallVector<std::pair<int64_t, OuterSumOp>>> placed(groups.size());
  for (auto [group, sums] : llvm::zip_equal(groups, placed)) {
    for (OuterSumOp sum : group)
      for (auto [place, array] : llvm::enumerate(arrays))
        if (sum.getLhs() == array.getResult())
          sums.emplace_back(place, sum);
    llvm::sort(sums, llvm::less_first());
  }
  Value joined = createJoined();
  for (ArrayRef<std::pair<int64_t, OuterSumOp>> sums : placed)
    while (!sums.empty()) {
      size_t count = 1;
      while (count < sums.size() && sums[count].first == sums.front().first + int64_t(count))
        ++count;
      SmallVector<OuterSumOp> next;
      for (auto [place, sum] : sums.take_front(count))
        next.push_back(sum);
      if (count > 1)
        joinSums(next, joined, sums.front().first);
      sums = sums.drop_front(count);
    }
}

namespace {
struct JoinEmitted : public bppsa::impl::JoinEmittedBase<JoinEmitted> {
  using JoinEmittedBase::JoinEmittedBase;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation().walk([&](ChainOp chain) {
      if (chain->getNumResults() == 0 && chain.getLanes().value_or(1) > 1)
        chains.push_back(chain);
    });
    for (ChainOp chain : chains) {
      EmittedArrays emitted(chain, minBytes);
      if (emitted.canJoin())
        emitted.join();
    }
  }
};
} // namespace
