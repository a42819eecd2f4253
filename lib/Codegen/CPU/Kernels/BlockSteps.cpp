//===- BlockSteps.cpp - block operations over time steps ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Operations around a recurrent layer read arrays of all steps, from memory if sequences are long.
// None reads later steps, so in a common loop over blocks of steps, intermediate arrays stay in a
// cache.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "RowOps.h"
#include "Slices.h"
#include "StepDims.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/TaskMapping.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_BLOCKSTEPS
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isWritten(OpOperand &operand) {
  if (auto loop = dyn_cast<RecurrenceOp>(operand.getOwner()))
    return operand.getOperandNumber() >= loop.getDestinations().getBeginOperandIndex();
  if (auto rows = dyn_cast<linalg::LinalgOp>(operand.getOwner()))
    return rows.isDpsInit(&operand);
  return operand.getOperandNumber() + 1 == operand.getOwner()->getNumOperands();
}

namespace {
/// Consecutive operations that process steps one by one.
class StepGroup {
public:
  explicit StepGroup(const StepDims &dims) : dims(&dims) {}

  bool add(Operation *op);
  bool isWorthBlocks() const;
  void emit(int64_t bytes);

private:
  bool isLocal(Value array) const;
  Value emitLength(OpBuilder &builder, Location loc, int64_t bytes) const;
  void shrinkLocals(OpBuilder &builder, Location loc, Value length);
  void emitInitialStates(OpBuilder &builder, Location loc) const;
  IRMapping emitRows(OpBuilder &builder, Location loc, Value first, Value count) const;
  void emitBlock(OpBuilder &builder, Location loc, Value first, Value count) const;

  const StepDims *dims;
  SmallVector<Operation *> ops;
  llvm::MapVector<Value, int64_t> arrays;
  /// By root array: all views, and whether they are written.
  DenseMap<Value, std::pair<SmallVector<Value>, bool>> accesses;
  DenseSet<Value> alike;
  SmallVector<RecurrenceOp> loopsWithStates;
  llvm::MapVector<Value, Value> buffers;
};
} // namespace

bool StepGroup::add(Operation *op) {
  std::optional<StepDims::OfOperands> ofOperands = dims->find(op);
  if (!ofOperands)
    return false;
  auto joined = accesses;
  auto joinedAlike = alike;
  for (auto [number, dim] : llvm::enumerate(*ofOperands)) {
    Value array = op->getOperand(number);
    if (dim && !arrays.empty() &&
        !dims->haveSameSteps(array, *dim, arrays.front().first, arrays.front().second))
      return false;
    if (!isa<MemRefType>(array.getType()))
      continue;
    // Operands shared by all steps must not be written step by step.
    Value root = getViewRoot(array);
    bool isAlike = isa<linalg::LinalgOp>(op) && !dim;
    if (isAlike ? accesses.contains(root) : alike.contains(root))
      return false;
    if (isAlike)
      joinedAlike.insert(root);
    auto &[values, written] = joined[root];
    if (!llvm::is_contained(values, array) && !dims->holdsStatesAfterSteps(array))
      values.push_back(array);
    written |= isWritten(op->getOpOperand(number));
    // Another view of a written array may belong to another step.
    if (written && values.size() > 1)
      return false;
  }
  auto loop = dyn_cast<RecurrenceOp>(op);
  for (RecurrenceOp before : loopsWithStates)
    for (Value trajectory : getTrajectories(before))
      if (llvm::is_contained(op->getOperands(), trajectory))
        return false;
  accesses = std::move(joined);
  alike = std::move(joinedAlike);
  ops.push_back(op);
  if (loop && !loop.getInitial().empty())
    loopsWithStates.push_back(loop);
  for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), *ofOperands))
    if (dim)
      arrays.insert({operand, *dim});
  return true;
}

bool StepGroup::isWorthBlocks() const {
  if (llvm::all_of(ops, llvm::IsaPred<linalg::LinalgOp>))
    return false;
  DenseSet<Value> written;
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands()) {
      Value root = getViewRoot(operand.get());
      if (isWritten(operand))
        written.insert(root);
      else if (written.contains(root))
        return true;
    }
  return false;
}

bool StepGroup::isLocal(Value array) const {
  if (!isUsedOnlyBy(array, ops) || array.getDefiningOp()->getBlock() != ops.front()->getBlock())
    return false;
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == array) {
        auto rows = dyn_cast<linalg::LinalgOp>(op);
        return isWritten(operand) && !(rows && rows.payloadUsesValueFromOperand(&operand));
      }
  return false;
}

/// Returns the number of steps that fit `bytes`, a multiple of the task size of loops without
/// states.
Value StepGroup::emitLength(OpBuilder &builder, Location loc, int64_t bytes) const {
  Value ofStep = getIndex(builder, loc, 1);
  for (auto [array, stepDim] : arrays)
    ofStep = addIndex(builder, loc, ofStep, emitStepBytes(builder, loc, array, stepDim));
  Value tasks =
      arith::DivUIOp::create(builder, loc, getIndex(builder, loc, bytes / kStepsPerTask), ofStep);
  tasks = arith::MaxUIOp::create(builder, loc, tasks, getIndex(builder, loc, 1));
  return arith::MulIOp::create(builder, loc, tasks, getIndex(builder, loc, kStepsPerTask));
}

void StepGroup::shrinkLocals(OpBuilder &builder, Location loc, Value length) {
  for (auto [array, stepDim] : arrays)
    if (isLocal(array))
      buffers[array] = allocateLike(builder, loc, array, stepDim, length);
}

static Value emitSlot(OpBuilder &builder, Location loc, Value trajectory, OpFoldResult slot) {
  memref::SubViewOp slice =
      emitSlice(builder, loc, trajectory, /*dim=*/1, slot, builder.getIndexAttr(1));
  SmallVector<int64_t> shape(slice.getType().getShape());
  shape.erase(shape.begin() + 1);
  return memref::SubViewOp::rankReduceIfNeeded(builder, loc, slice, shape).value();
}

/// Copies initial states to slot 0. Each block starts from the slot that the previous block wrote
/// last.
void StepGroup::emitInitialStates(OpBuilder &builder, Location loc) const {
  for (RecurrenceOp loop : loopsWithStates)
    for (auto [initial, trajectory] : llvm::zip(loop.getInitial(), getTrajectories(loop)))
      memref::CopyOp::create(builder, loc, initial,
                             emitSlot(builder, loc, trajectory, builder.getIndexAttr(0)));
}

/// Collapses rows, so that types show that operands are contiguous.
IRMapping StepGroup::emitRows(OpBuilder &builder, Location loc, Value first, Value count) const {
  IRMapping mapping;
  for (Operation *op : ops) {
    if (!isa<linalg::LinalgOp>(op))
      continue;
    for (OpOperand &operand : op->getOpOperands()) {
      Value array = operand.get();
      if (!hasRows(operand) || mapping.contains(array))
        continue;
      Value buffer = buffers.lookup(array), samples = getSize(builder, loc, array, 1);
      Value all = collapseRows(builder, loc, buffer ? buffer : array, kRowDims);
      Value rows = mulIndex(builder, loc, count, samples);
      OpFoldResult begin = builder.getIndexAttr(0);
      if (!buffer)
        begin = mulIndex(builder, loc, first, samples);
      mapping.map(array, emitSlice(builder, loc, all, /*dim=*/0, begin, rows));
    }
  }
  return mapping;
}

void StepGroup::emitBlock(OpBuilder &builder, Location loc, Value first, Value count) const {
  IRMapping mapping;
  for (auto [array, dim] : arrays) {
    if (llvm::all_of(ops, [array = array](Operation *op) {
          return isa<linalg::LinalgOp>(op) || !llvm::is_contained(op->getOperands(), array);
        }))
      continue;
    Value buffer = buffers.lookup(array);
    OpFoldResult begin = first;
    if (buffer)
      begin = builder.getIndexAttr(0);
    mapping.map(array, emitSlice(builder, loc, buffer ? buffer : array, dim, begin, count));
  }
  Value slots = addIndex(builder, loc, count, 1);
  for (RecurrenceOp loop : loopsWithStates)
    for (Value trajectory : getTrajectories(loop))
      mapping.map(trajectory, emitSlice(builder, loc, trajectory, /*dim=*/1, first, slots));
  IRMapping rows = emitRows(builder, loc, first, count);
  for (Operation *op : ops) {
    if (auto ofRows = dyn_cast<linalg::LinalgOp>(op)) {
      emitOnRows(builder, ofRows, kRowDims, rows);
      continue;
    }
    SmallVector<Value> initial;
    auto loop = dyn_cast<RecurrenceOp>(op);
    if (loop)
      for (Value trajectory : getTrajectories(loop))
        initial.push_back(emitSlot(builder, loc, trajectory, first));
    Operation *clone = builder.clone(*op, mapping);
    if (loop)
      cast<RecurrenceOp>(clone).getInitialMutable().assign(initial);
  }
}

void StepGroup::emit(int64_t bytes) {
  isolateGroup(ops);
  OpBuilder builder(ops.front());
  Location loc = ops.front()->getLoc();
  Value length = emitLength(builder, loc, bytes);
  Value steps = getSize(builder, loc, arrays.front().first, arrays.front().second);
  shrinkLocals(builder, loc, arith::MinUIOp::create(builder, loc, length, steps));
  emitInitialStates(builder, loc);
  scf::ForOp::create(builder, loc, getIndex(builder, loc, 0), steps, length, ValueRange(),
                     [&](OpBuilder &nested, Location, Value first, ValueRange) {
                       Value left = arith::SubIOp::create(nested, loc, steps, first);
                       Value count = arith::MinUIOp::create(nested, loc, left, length);
                       emitBlock(nested, loc, first, count);
                       scf::YieldOp::create(nested, loc);
                     });
  for (auto [array, buffer] : buffers)
    memref::DeallocOp::create(builder, loc, buffer);
  llvm::for_each(ops, [](Operation *op) { op->erase(); });
  for (auto [array, buffer] : buffers)
    eraseMemory(array.getDefiningOp());
}

namespace {
struct BlockSteps : public bppsa::impl::BlockStepsBase<BlockSteps> {
  using BlockStepsBase::BlockStepsBase;

  void runOnOperation() override {
    for (Block &block : getOperation().getBody()) {
      StepDims dims(block);
      for (StepGroup &group : findGroups(block, StepGroup(dims)))
        group.emit(bytes);
    }
  }
};
} // namespace
