//===- TraceNaNs.cpp - find the op with the first NaN ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Values in loop bodies become outputs of the loop, so one search over all steps finds the first
// NaN.
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Differentiation/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

namespace bppsa {
#define GEN_PASS_DEF_TRACENANS
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
enum class Order { Whole, Ascending, Descending };

class Tracer {
public:
  explicit Tracer(func::FuncOp function)
      : function(function), body(function.front()), builder(body.getTerminator()) {}
  void run();

private:
  void visit(Operation *op);
  void trace(Value array, Location loc, Order order);
  void traceLoop(RecurrenceOp op);
  void traceLoop(ChainOp op);
  void finish();

  func::FuncOp function;
  Block &body;
  OpBuilder builder;
  bool isBackward = false;
  int64_t group = 0;
  SmallVector<Value> searches;
  SmallVector<Attribute> entries;
};
} // namespace

static std::pair<StringRef, StringRef> getNode(Location loc) {
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (auto node = getNode(part); !node.first.empty())
        return node;
    return {};
  }
  auto name = dyn_cast<NameLoc>(loc);
  if (!name)
    return {};
  auto op = dyn_cast<NameLoc>(name.getChildLoc());
  return {name.getName(), op ? op.getName().getValue() : name.getName().getValue()};
}

/// Returns the step of the first NaN (negated in descending order; 0 in a whole array), or
/// INT64_MAX.
static Value createSearch(OpBuilder &builder, Location loc, Value array, Order order) {
  int64_t rank = cast<RankedTensorType>(array.getType()).getRank();
  constexpr int64_t none = std::numeric_limits<int64_t>::max();
  Value init = createFilled(builder, loc, {}, builder.getI64IntegerAttr(none));
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  AffineMap scalar = AffineMap::get(rank, 0, builder.getContext());
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::reduction);
  auto search = linalg::GenericOp::create(
      builder, loc, init.getType(), array, init, ArrayRef<AffineMap>{all, scalar}, iterators,
      [&](OpBuilder &b, Location nested, ValueRange in) {
        auto number = [&](int64_t value) -> Value {
          return arith::ConstantOp::create(b, nested, b.getI64IntegerAttr(value));
        };
        Value position = number(0);
        if (order != Order::Whole)
          position = arith::IndexCastOp::create(b, nested, b.getI64Type(),
                                                linalg::IndexOp::create(b, nested, 0));
        if (order == Order::Descending)
          position = arith::SubIOp::create(b, nested, number(0), position);
        Value isNaN = arith::CmpFOp::create(b, nested, arith::CmpFPredicate::UNO, in[0], in[0]);
        Value found = arith::SelectOp::create(b, nested, isNaN, position, number(none));
        Value first = arith::MinSIOp::create(b, nested, found, in[1]);
        linalg::YieldOp::create(b, nested, first);
      });
  return search.getResult(0);
}

static bool isTraced(Value value) {
  auto shaped = dyn_cast<ShapedType>(value.getType());
  return shaped && shaped.getElementType().isF32() && isa<RankedTensorType, VectorType>(shaped);
}

static bool isComputing(Operation *op) {
  return !isa<linalg::FillOp, linalg::TransposeOp, linalg::BroadcastOp, StopGradientOp>(op) &&
         !isa<tensor::TensorDialect, vector::VectorDialect>(op->getDialect()) &&
         !op->hasTrait<OpTrait::ConstantLike>();
}

void Tracer::trace(Value array, Location loc, Order order) {
  auto [node, op] = getNode(loc);
  auto text = [&](StringRef value) -> Attribute { return builder.getStringAttr(value); };
  NamedAttribute fields[] = {
      builder.getNamedAttr("node", text(node)), builder.getNamedAttr("op", text(op)),
      builder.getNamedAttr("backward", builder.getBoolAttr(isBackward)),
      builder.getNamedAttr("in_loop", builder.getBoolAttr(order != Order::Whole)),
      builder.getNamedAttr("group", builder.getI64IntegerAttr(group))};
  entries.push_back(builder.getDictionaryAttr(fields));
  searches.push_back(createSearch(builder, loc, array, order));
}

static SmallVector<Value> collectValues(Block &block) {
  SmallVector<Value> values;
  for (Operation &op : block.without_terminator())
    if (isComputing(&op))
      llvm::copy_if(op.getResults(), std::back_inserter(values), isTraced);
  return values;
}

static Type getArrayType(Value value, ArrayRef<int64_t> like) {
  auto shaped = cast<ShapedType>(value.getType());
  SmallVector<int64_t> shape(like.take_front(2));
  llvm::append_range(shape, shaped.getShape());
  return RankedTensorType::get(shape, shaped.getElementType());
}

static SmallVector<int64_t> getLoopSizes(ValueRange sequences, ValueRange states) {
  if (!sequences.empty())
    return llvm::to_vector(cast<RankedTensorType>(sequences[0].getType()).getShape().take_front(2));
  return {ShapedType::kDynamic, cast<RankedTensorType>(states[0].getType()).getDimSize(0)};
}

static void moveBody(Region &from, Region &to, ArrayRef<Value> values, size_t at) {
  to.takeBody(from);
  Operation *yield = to.front().getTerminator();
  yield->insertOperands(at, values);
}

void Tracer::traceLoop(RecurrenceOp op) {
  SmallVector<Value> values = collectValues(op.getBody().front());
  SmallVector<int64_t> sizes = getLoopSizes(op.getSequences(), op.getInitial());
  SmallVector<Type> types(op.getOutputs().getTypes());
  for (Value value : values)
    types.push_back(getArrayType(value, sizes));
  builder.setInsertionPointAfter(op);
  auto traced =
      RecurrenceOp::create(builder, op.getLoc(), op.getTrajectories().getTypes(), types,
                           op.getSequences(), op.getInitial(), op.getCaptures(), getOptions(op));
  traced->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  unsigned count = op.getNumResults();
  moveBody(op.getBody(), traced.getBody(), values, count);
  op->replaceAllUsesWith(traced->getResults().take_front(count));
  op.erase();
  for (auto [i, value] : llvm::enumerate(values))
    trace(traced->getResult(count + i), value.getLoc(),
          traced.getReverse() ? Order::Descending : Order::Ascending);
}

void Tracer::traceLoop(ChainOp op) {
  SmallVector<Value> values = collectValues(op.getBody().front());
  SmallVector<int64_t> sizes = getLoopSizes(op.getSaved(), op.getSeeds());
  SmallVector<Type> types(op.getEmitted().getTypes());
  for (Value value : values)
    types.push_back(getArrayType(value, sizes));
  builder.setInsertionPointAfter(op);
  auto traced = ChainOp::create(builder, op.getLoc(), op.getCotangents().getTypes(), types,
                                op.getSaved(), op.getSeeds(), op.getInjected(), op.getInjectInto(),
                                op.getCaptures(), getOptions(op));
  traced->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  size_t before = op.getCotangents().size() + op.getEmitted().size();
  moveBody(op.getBody(), traced.getBody(), values, before);
  for (size_t i = 0, e = op->getNumResults(); i < e; ++i)
    op->getResult(i).replaceAllUsesWith(traced->getResult(i < before ? i : i + values.size()));
  op.erase();
  // A chain runs in the opposite direction of its recurrence.
  for (auto [i, value] : llvm::enumerate(values))
    trace(traced->getResult(before + i), value.getLoc(),
          traced.getReverse() ? Order::Ascending : Order::Descending);
}

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

void Tracer::visit(Operation *op) {
  if (auto mark = dyn_cast<MarkPhaseOp>(op)) {
    isBackward = mark.getPhase() != 0;
    mark.erase();
    return;
  }
  ++group;
  if (auto loop = dyn_cast<RecurrenceOp>(op))
    return traceLoop(loop);
  if (auto loop = dyn_cast<ChainOp>(op))
    return traceLoop(loop);
  if (!isComputing(op))
    return;
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults())
    if (isTraced(result))
      trace(result, op->getLoc(), Order::Whole);
}

void Tracer::finish() {
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  Location loc = function.getLoc();
  SmallVector<Value> found = llvm::map_to_vector(searches, [&](Value search) -> Value {
    return tensor::ExtractOp::create(builder, loc, search, ValueRange());
  });
  auto type = RankedTensorType::get(static_cast<int64_t>(found.size()), builder.getI64Type());
  Value all = tensor::FromElementsOp::create(builder, loc, type, found);
  terminator->setOperands(all);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), type));
  DictionaryAttr role =
      builder.getDictionaryAttr(attrs::Output::make(builder.getStringAttr(kFirstNaNs)));
  function.setAllResultAttrs(ArrayRef(role));
  function->setDiscardableAttr(kTracedNodes, builder.getArrayAttr(entries));
}

void Tracer::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    visit(op);
  finish();
}

namespace {
struct TraceNaNsPass : bppsa::impl::TraceNaNsBase<TraceNaNsPass> {
  using TraceNaNsBase::TraceNaNsBase;

  void runOnOperation() override {
    trace(EntryRole::Step, EntryRole::StepNaNs);
    trace(EntryRole::Grad, EntryRole::GradNaNs);
  }

private:
  void trace(EntryRole of, EntryRole role) {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<func::FuncOp>> sources = requireEntries(module, of);
    if (failed(sources))
      return signalPassFailure();
    func::FuncOp copy = sources->front().clone();
    setEntry(copy, EntryAttr::get(&getContext(), role));
    module.push_back(copy);
    Tracer(copy).run();
  }
};
} // namespace
