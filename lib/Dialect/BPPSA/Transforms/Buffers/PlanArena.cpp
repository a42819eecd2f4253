//===- PlanArena.cpp - one arena for all temporaries ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SizeFormulas.h"
#include "StreamJoins.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "bppsa-plan-arena"

namespace bppsa {
#define GEN_PASS_DEF_PLANARENA
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Slot alignment in bytes, guaranteed by all devices.
static constexpr int64_t kAlignment = 256;
/// The plan is correct for all sizes and good for these.
static constexpr int64_t kLikelySteps = 1000, kLikelySize = 16;
static constexpr char kTake[] = "bppsa_rt_arena_take", kDrop[] = "bppsa_rt_arena_drop";

static Type getBytesType(Builder &builder) {
  return MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
}

static bool allocates(func::FuncOp function) {
  return function.walk([](memref::AllocOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static void inlineAllocating(func::FuncOp function, SymbolTable &symbols) {
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || !callee.isPrivate() || callee.getNumResults() != 0 || !allocates(callee) ||
        !llvm::hasSingleElement(callee.getBody()))
      continue;
    OpBuilder builder(call);
    IRMapping mapping;
    mapping.map(callee.getArguments(), call.getOperands());
    for (Operation &op : callee.front().without_terminator())
      builder.clone(op, mapping);
    call.erase();
  }
}

//===----------------------------------------------------------------------===//
// The plan of a function
//===----------------------------------------------------------------------===//

namespace {
/// An allocation and the range of operations during which its memory is in use. Memory freed by the
/// sub stream stays in use until the main stream has waited.
struct Temporary {
  memref::AllocOp allocation;
  unsigned first, last;
  /// Position at which the sub stream frees memory that it allocated.
  std::optional<unsigned> freedOnSubStream;
  /// Size in bytes as a value in the plan function, and for the assumed sizes.
  Value bytes;
  int64_t likelyBytes = 0;

  bool overlaps(const Temporary &other) const {
    if (freedOnSubStream && other.freedOnSubStream)
      return first <= *other.freedOnSubStream && other.first <= *freedOnSubStream;
    return first <= other.last && other.first <= last;
  }
};

/// Temporaries of a slot are never in use at the same time.
struct Slot {
  SmallVector<Temporary *> temporaries;

  bool fits(const Temporary &temporary) const {
    return llvm::none_of(temporaries, [&](Temporary *other) { return other->overlaps(temporary); });
  }
  bool hasSize(Value bytes) const {
    return llvm::any_of(temporaries, [&](Temporary *other) { return other->bytes == bytes; });
  }
};

class ArenaPlan {
public:
  ArenaPlan(func::FuncOp function, unsigned numSymbols)
      : function(function), numSymbols(numSymbols) {}
  void run();

private:
  void findTemporaries();
  bool computeSizes();
  void evaluateLikely();
  SmallVector<Slot> assignSlots();
  Value emitSize(OpBuilder &builder, const Slot &slot);
  void emitOffsets(ArrayRef<Slot> slots);
  void rewrite(ArrayRef<Slot> slots);

  func::FuncOp function, plan;
  unsigned numSymbols;
  SmallVector<Value> symbols;
  SmallVector<Temporary> temporaries;
};
} // namespace

void ArenaPlan::run() {
  findTemporaries();
  if (!temporaries.empty() && computeSizes()) {
    evaluateLikely();
    SmallVector<Slot> slots = assignSlots();
    LDBG() << function.getName() << ": " << temporaries.size() << " temporaries in " << slots.size()
           << " slots";
    emitOffsets(slots);
    rewrite(slots);
  }
}

void ArenaPlan::findTemporaries() {
  DenseMap<Operation *, unsigned> positions;
  Block &block = function.front();
  for (auto [position, op] : llvm::enumerate(block))
    positions[&op] = position;
  StreamJoins joins(block);
  function.walk([&](memref::AllocOp allocation) {
    Operation *taken = block.findAncestorOpInBlock(*allocation);
    Temporary temporary{
        allocation, positions[taken], static_cast<unsigned>(positions.size()), {}, Value()};
    for (Operation *user : allocation->getUsers())
      if (isa<memref::DeallocOp>(user)) {
        Operation *freed = block.findAncestorOpInBlock(*user);
        temporary.last = positions[joins.getJoin(freed)];
        if (joins.isOfSubStream(taken) && joins.isOfSubStream(freed))
          temporary.freedOnSubStream = positions[freed];
      }
    temporaries.push_back(temporary);
  });
}

/// Returns false if there is nothing to plan.
bool ArenaPlan::computeSizes() {
  OpBuilder builder(function);
  Location loc = function.getLoc();
  SmallVector<Type> inputs(numSymbols, builder.getIndexType());
  plan = func::FuncOp::create(builder, loc, getArenaPlanName(function.getName()),
                              builder.getFunctionType(inputs, {}));
  plan.setPrivate();
  builder.setInsertionPointToStart(&function.front());
  symbols = SizeFormulas::readSymbols(function, builder, numSymbols);
  builder.setInsertionPointToStart(plan.addEntryBlock());
  SmallVector<Value> known(plan.getArguments());
  for (unsigned i = 0; i < numSymbols; ++i)
    if (!symbols[i])
      known[i] = {};
  SizeFormulas formulas(function, builder, known);
  SmallVector<Value> sizes;
  for (Temporary &temporary : temporaries)
    if ((temporary.bytes = formulas.emitBytes(temporary.allocation)))
      sizes.push_back(temporary.bytes);
    else
      LDBG() << "no formula for the size of " << temporary.allocation;
  llvm::erase_if(temporaries, [](const Temporary &temporary) { return !temporary.bytes; });
  if (temporaries.empty()) {
    plan.erase();
    return false;
  }
  auto back = func::ReturnOp::create(builder, loc, sizes);
  IRRewriter rewriter(builder.getContext());
  DominanceInfo dominance(plan);
  eliminateCommonSubExpressions(rewriter, dominance, plan);
  for (auto [temporary, bytes] : llvm::zip_equal(temporaries, back.getOperands()))
    temporary.bytes = bytes;
  back->setOperands({});
  return true;
}

void ArenaPlan::evaluateLikely() {
  Builder builder(function.getContext());
  DenseMap<Value, Attribute> known;
  for (Value symbol : plan.getArguments())
    known[symbol] = builder.getIndexAttr(kLikelySize);
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    auto axis = attrs::TimeAxis::ofArgument(function, i);
    auto shape = attrs::Shape::ofArgument(function, i);
    if (!axis || !shape)
      continue;
    auto symbol = dyn_cast<AffineSymbolExpr>(shape.getValue().getResult(axis.getInt()));
    if (symbol && symbol.getPosition() < numSymbols)
      known[plan.getArgument(symbol.getPosition())] = builder.getIndexAttr(kLikelySteps);
  }
  for (Operation &op : plan.front().without_terminator()) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1)
      continue;
    auto value = dyn_cast<Value>(results.front());
    known[op.getResult(0)] = value ? known.lookup(value) : cast<Attribute>(results.front());
  }
  for (Temporary &temporary : temporaries)
    if (auto bytes = dyn_cast_or_null<IntegerAttr>(known.lookup(temporary.bytes)))
      temporary.likelyBytes = bytes.getInt();
}

/// Assigns the largest temporaries first, to a free slot of equal size, else the smallest, else a
/// new one.
SmallVector<Slot> ArenaPlan::assignSlots() {
  SmallVector<std::pair<int64_t, unsigned>> order;
  for (auto [number, temporary] : llvm::enumerate(temporaries))
    order.push_back({-temporary.likelyBytes, number});
  llvm::sort(order);
  SmallVector<Slot> slots;
  for (auto [negativeBytes, number] : order) {
    Temporary &temporary = temporaries[number];
    Slot *best = nullptr;
    for (Slot &slot : slots)
      if (slot.fits(temporary) && !(best && best->hasSize(temporary.bytes)))
        best = &slot;
    if (!best)
      best = &slots.emplace_back();
    best->temporaries.push_back(&temporary);
  }
  return slots;
}

Value ArenaPlan::emitSize(OpBuilder &builder, const Slot &slot) {
  Location loc = plan.getLoc();
  SetVector<Value> sizes;
  int64_t constant = 0;
  for (Temporary *temporary : slot.temporaries) {
    APInt value;
    if (matchPattern(temporary->bytes, m_ConstantInt(&value)))
      constant = std::max(constant, value.getSExtValue());
    else
      sizes.insert(temporary->bytes);
  }
  Value largest = getIndex(builder, loc, llvm::alignTo(constant, kAlignment));
  for (Value size : sizes) {
    Value raised = addIndex(builder, loc, size, kAlignment - 1);
    Value rounded =
        builder.createOrFold<arith::AndIOp>(loc, raised, getIndex(builder, loc, -kAlignment));
    largest = constant == 0 && size == sizes.front()
                  ? rounded
                  : builder.createOrFold<arith::MaxUIOp>(loc, largest, rounded);
  }
  return largest;
}

void ArenaPlan::emitOffsets(ArrayRef<Slot> slots) {
  OpBuilder builder(plan.front().getTerminator());
  SmallVector<Value> results = {getIndex(builder, plan.getLoc(), 0)};
  for (const Slot &slot : slots)
    results.push_back(builder.createOrFold<arith::AddIOp>(plan.getLoc(), results.back(),
                                                          emitSize(builder, slot)));
  plan.front().getTerminator()->setOperands(results);
  plan.setFunctionType(builder.getFunctionType(plan.getArgumentTypes(),
                                               TypeRange(ValueRange(ArrayRef<Value>(results)))));
}

static void takeFromArena(memref::AllocOp allocation, Value offset) {
  OpBuilder builder(allocation);
  Location loc = allocation.getLoc();
  Value bytes = emitByteCount(builder, loc, allocation.getType(), allocation.getDynamicSizes());
  auto slice =
      func::CallOp::create(builder, loc, kTake, getBytesType(builder), ValueRange{offset, bytes});
  Value view = memref::ViewOp::create(builder, loc, allocation.getType(), slice.getResult(0),
                                      getIndex(builder, loc, 0), allocation.getDynamicSizes());
  for (Operation *user : llvm::make_early_inc_range(allocation->getUsers()))
    if (isa<memref::DeallocOp>(user)) {
      builder.setInsertionPoint(user);
      func::CallOp::create(builder, user->getLoc(), kDrop, TypeRange(), slice.getResults());
      user->erase();
    }
  allocation.replaceAllUsesWith(view);
  allocation.erase();
}

void ArenaPlan::rewrite(ArrayRef<Slot> slots) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  SmallVector<Value> operands;
  for (Value symbol : symbols) {
    // The insertion point is after the last symbol read.
    if (symbol)
      builder.setInsertionPointAfterValue(symbol);
    operands.push_back(symbol ? symbol : getIndex(builder, function.getLoc(), 0));
  }
  auto offsets = func::CallOp::create(builder, function.getLoc(), plan, operands);
  for (auto [slot, offset] : llvm::zip(slots, offsets.getResults()))
    for (Temporary *temporary : slot.temporaries)
      takeFromArena(temporary->allocation, offset);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void declareRuntime(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type index = builder.getIndexType();
  Type bytes = getBytesType(builder);
  auto declare = [&](StringRef name, TypeRange inputs, TypeRange results) {
    auto function = func::FuncOp::create(builder, module.getLoc(), name,
                                         builder.getFunctionType(inputs, results));
    function.setPrivate();
    function->setAttr("llvm.emit_c_interface", builder.getUnitAttr());
  };
  declare(kTake, {index, index}, bytes);
  declare(kDrop, bytes, {});
}

namespace {
struct PlanArena : public bppsa::impl::PlanArenaBase<PlanArena> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolsAttr names = attrs::Symbols::of(module);
    SymbolTable symbols(module);
    SmallVector<func::FuncOp> exported, helpers;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        (function.isPrivate() ? helpers : exported).push_back(function);
    for (func::FuncOp function : exported)
      inlineAllocating(function, symbols);
    SymbolTableCollection tables;
    SymbolUserMap users(tables, module);
    for (func::FuncOp helper : helpers)
      if (users.useEmpty(helper))
        helper.erase();
    bool planned = false;
    for (func::FuncOp function : exported)
      if (llvm::hasSingleElement(function.getBody())) {
        ArenaPlan(function, names ? names.getNames().size() : 0).run();
        planned |= module.lookupSymbol(getArenaPlanName(function.getName())) != nullptr;
      }
    if (planned)
      declareRuntime(module);
  }
};
} // namespace
