//===- BodyPlan.cpp - row-wise evaluation of a body -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"

using namespace mlir;
using namespace bppsa;

int64_t bppsa::getNumRows(Value value) { return cast<VectorType>(value.getType()).getDimSize(0); }

static bool isSlice(CellOpInterface cell) {
  return llvm::any_of(llvm::seq(cell->getNumOperands()), [&](unsigned operand) {
    return cell.getRowAccess(operand) == RowAccess::Other;
  });
}

static bool isReadWhole(CellOpInterface cell, unsigned operand) {
  return cell.getRowAccess(operand) == RowAccess::All || isSlice(cell);
}

bool BodyPlan::isCapture(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getArgNumber() >= firstCapture;
}

bool BodyPlan::isInMemoryAtEntry(Value value) const {
  return isa<BlockArgument>(value) && !isCapture(value);
}

int64_t BodyPlan::getStage(Value value) const {
  auto stage = stages.find(value);
  return stage == stages.end() ? 0 : stage->second;
}

int64_t BodyPlan::getMemoryStage(Value value) const {
  return isInMemoryAtEntry(value) ? -1 : getStage(value);
}

FailureOr<BodyPlan> BodyPlan::create(Block &body, unsigned numCaptures) {
  BodyPlan plan;
  plan.body = &body;
  plan.firstCapture = body.getNumArguments() - numCaptures;
  plan.collectMemoryValues();
  if (failed(plan.computeStages()))
    return failure();
  plan.buildUnits();
  return plan;
}

void BodyPlan::collectMemoryValues() {
  for (Operation &op : *body) {
    auto cell = dyn_cast<CellOpInterface>(op);
    for (auto [number, operand] : llvm::enumerate(op.getOperands()))
      if (isa<YieldOp>(op) || (cell && isReadWhole(cell, number)))
        inMemory.insert(operand);
    if (auto product = dyn_cast<MatVecOp>(op)) {
      auto user = product->hasOneUse() ? dyn_cast<MatVecOp>(*product->user_begin()) : MatVecOp();
      if (user && user.getAddend() == product.getResult())
        fused.insert(product.getResult());
    }
  }
  // Products needed in memory cannot be accumulated only in registers.
  for (Value value : inMemory)
    fused.erase(value);
}

LogicalResult BodyPlan::computeStage(Operation *op) {
  auto cell = dyn_cast<CellOpInterface>(op);
  if (!cell)
    return op->emitOpError("has no row-wise evaluation; a body holds elementwise operations, "
                           "bppsa.matvec and strided slices");
  int64_t stage = 0;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (cell.getRowAccess(number) != RowAccess::Matrix)
      stage = std::max(stage,
                       isReadWhole(cell, number) ? getMemoryStage(operand) + 1 : getStage(operand));
    else if (!isCapture(operand))
      return op->emitOpError("needs a captured matrix to be lowered, found a computed one");
  }
  stages[op->getResult(0)] = stage;
  return success();
}

LogicalResult BodyPlan::computeStages() {
  for (Operation &op : body->without_terminator()) {
    for (Value result : op.getResults())
      if (!isa<VectorType>(result.getType()) || cast<VectorType>(result.getType()).getRank() != 1)
        return op.emitOpError() << "must give a vector of rank 1 in a body, found "
                                << result.getType();
    if (failed(computeStage(&op)))
      return failure();
    Value result = op.getResult(0);
    // Booleans are never stored. Values of arguments need no earlier loop.
    bool isBoolean = cast<VectorType>(result.getType()).getElementType().isInteger(1);
    auto isFree = [&](Value operand) { return isa<BlockArgument>(operand) || isLazy(operand); };
    auto cell = cast<CellOpInterface>(op);
    bool cheapOrOnce = cell.isRecomputable() || result.hasOneUse();
    if (isa<arith::ConstantOp>(op) ||
        (cell.isRowWise() && !inMemory.contains(result) &&
         (isBoolean || (cheapOrOnce && llvm::all_of(op.getOperands(), isFree)))))
      lazy.insert(result);
  }
  return success();
}

RowUnit &BodyPlan::getUnit(int64_t stage, int64_t rows) {
  for (RowUnit &unit : units)
    if (unit.stage == stage && unit.rows == rows)
      return unit;
  units.push_back({stage, rows, {}, {}});
  return units.back();
}

void BodyPlan::addStored(Value value) {
  if (isInMemoryAtEntry(value) && !llvm::is_contained(body->getTerminator()->getOperands(), value))
    return;
  RowUnit &unit = getUnit(getStage(value), getNumRows(value));
  if (!llvm::is_contained(unit.stored, value))
    unit.stored.push_back(value);
}

void BodyPlan::addNeeded(Value value, RowUnit &unit, DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op || isa<arith::ConstantOp>(op))
    return;
  bool here = unit.stage == getStage(value) && unit.rows == getNumRows(value);
  if (isa<vector::InsertStridedSliceOp>(op) || (!isLazy(value) && !here)) {
    addStored(value);
    return;
  }
  if (isSlice(cast<CellOpInterface>(op)))
    return;
  auto product = dyn_cast<MatVecOp>(op);
  if (!product) {
    for (Value operand : op->getOperands())
      addNeeded(operand, unit, seen);
    return;
  }
  ProductSum sum = {value, {}, {}};
  while (product) {
    sum.products.push_back(product);
    sum.addend = product.getAddend();
    product = sum.addend && fused.contains(sum.addend) ? sum.addend.getDefiningOp<MatVecOp>()
                                                       : MatVecOp();
  }
  if (sum.addend)
    addNeeded(sum.addend, unit, seen);
  unit.sums.push_back(sum);
}

void BodyPlan::buildUnits() {
  // References to units must stay valid while units are added.
  units.reserve(2 * body->getOperations().size() + 2 * body->getNumArguments() + 2);
  for (Value value : inMemory)
    addStored(value);
  // Later units are visited first because they request values from earlier ones.
  int64_t last = 0;
  for (const RowUnit &unit : units)
    last = std::max(last, unit.stage);
  for (int64_t stage = last; stage >= 0; --stage)
    for (size_t i = 0; i < units.size(); ++i) {
      if (units[i].stage != stage)
        continue;
      DenseSet<Value> seen;
      SmallVector<Value> stored = units[i].stored;
      for (Value value : stored)
        if (!value.getDefiningOp<vector::InsertStridedSliceOp>())
          addNeeded(value, units[i], seen);
    }
  llvm::sort(units, [](const RowUnit &a, const RowUnit &b) {
    return std::pair(a.stage, a.rows) < std::pair(b.stage, b.rows);
  });
}

bool BodyPlan::isLoadedAt(Value value, const RowUnit &unit) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return !isCapture(value);
  if (isa<vector::InsertStridedSliceOp>(op))
    return true;
  return !isLazy(value) && (unit.stage != getStage(value) || unit.rows != getNumRows(value));
}

/// Sets `otherRows` if rows other than the own one are loaded.
static bool readsArgument(Value value, Value argument, const BodyPlan &plan, const RowUnit &unit,
                          bool &otherRows) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || plan.isLoadedAt(value, unit))
    return false;
  auto cell = cast<CellOpInterface>(op);
  bool reads = false;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (cell.getRowAccess(number) == RowAccess::Same && !isReadWhole(cell, number)) {
      reads |= readsArgument(operand, argument, plan, unit, otherRows);
    } else if (operand == argument) {
      reads = otherRows = true;
    }
  }
  return reads;
}

bool BodyPlan::canOverwrite(unsigned argument, unsigned result) const {
  Value read = body->getArgument(argument);
  Value written = body->getTerminator()->getOperand(result);
  bool isWritten = false;
  for (const RowUnit &unit : units) {
    bool writes = llvm::is_contained(unit.stored, written);
    for (Value stored : unit.stored) {
      bool otherRows = false;
      if (auto insert = stored.getDefiningOp<vector::InsertStridedSliceOp>()) {
        if (llvm::is_contained(insert->getOperands(), read) && (isWritten || writes))
          return false;
        continue;
      }
      if (readsArgument(stored, read, *this, unit, otherRows) &&
          (isWritten || (writes && otherRows)))
        return false;
    }
    isWritten |= writes;
  }
  return true;
}

int64_t bppsa::getMatrixBytes(Region &body) {
  SetVector<Value> matrices;
  body.walk([&](MatVecOp product) { matrices.insert(product.getMatrix()); });
  int64_t bytes = 0;
  for (Value matrix : matrices) {
    auto type = cast<VectorType>(matrix.getType());
    bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  return bytes;
}
