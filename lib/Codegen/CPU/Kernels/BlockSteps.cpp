//===- BlockSteps.cpp - operations on single steps, block by block --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Around a recurrent layer stand changes of layout, products of its inputs, other layers and, with
// an output at every step, a classifier. Each of them goes through arrays of all steps, which come
// from memory every time where a sequence is long. None of them looks ahead. A loop over blocks of
// steps around all of them finds what the one before has written in a cache, and what nobody else
// reads is a buffer of one block.
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

/// Whether an operation of a group writes `operand`; it reads the others.
static bool isWritten(OpOperand &operand) {
  if (auto loop = dyn_cast<RecurrenceOp>(operand.getOwner()))
    return operand.getOperandNumber() >= loop.getDestinations().getBeginOperandIndex();
  if (auto rows = dyn_cast<linalg::LinalgOp>(operand.getOwner()))
    return rows.isDpsInit(&operand);
  return operand.getOperandNumber() + 1 == operand.getOwner()->getNumOperands();
}

namespace {
/// Operations behind each other that treat one step after the other.
class StepGroup {
public:
  explicit StepGroup(const StepDims &dims) : dims(&dims) {}

  /// Takes `op` where it fits behind the others; false where it does not.
  bool add(Operation *op);
  /// Whether what one of them writes is read by another.
  bool isWorthBlocks() const;
  /// Puts a loop over blocks of steps, of about `bytes`, in the place of the operations.
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
  /// The arrays with steps and their dimensions, in the order of their first use.
  llvm::MapVector<Value, int64_t> arrays;
  /// By where an array is, all that operations have of it; whether they write it.
  DenseMap<Value, std::pair<SmallVector<Value>, bool>> accesses;
  /// What graph operations read and is the same at all steps, by where it is.
  DenseSet<Value> alike;
  SmallVector<RecurrenceOp> loopsWithStates;
  /// Buffers of one block in the places of arrays.
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
    // What graph operations have at all steps alike is not written step by step.
    Value root = getViewRoot(array);
    bool isAlike = isa<linalg::LinalgOp>(op) && !dim;
    if (isAlike ? accesses.contains(root) : alike.contains(root))
      return false;
    if (isAlike)
      joinedAlike.insert(root);
    auto &[values, written] = joined[root];
    if (!llvm::is_contained(values, array) && !dims->isStatesBehind(array))
      values.push_back(array);
    written |= isWritten(op->getOpOperand(number));
    // Another part of what is written may be that of another step.
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

/// Whether nobody else uses `array`, which each block writes before it reads it.
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

/// How many steps of all arrays take `bytes`: as many as whole tasks of loops without states have.
Value StepGroup::emitLength(OpBuilder &builder, Location loc, int64_t bytes) const {
  Value ofStep = getIndex(builder, loc, 1);
  for (auto [array, stepDim] : arrays)
    ofStep = addIndex(builder, loc, ofStep, emitStepBytes(builder, loc, array, stepDim));
  Value tasks =
      arith::DivUIOp::create(builder, loc, getIndex(builder, loc, bytes / kStepsPerTask), ofStep);
  tasks = arith::MaxUIOp::create(builder, loc, tasks, getIndex(builder, loc, 1));
  return arith::MulIOp::create(builder, loc, tasks, getIndex(builder, loc, kStepsPerTask));
}

/// Allocates buffers of `length` steps for arrays that nobody else uses.
void StepGroup::shrinkLocals(OpBuilder &builder, Location loc, Value length) {
  for (auto [array, stepDim] : arrays)
    if (isLocal(array))
      buffers[array] = allocateLike(builder, loc, array, stepDim, length);
}

/// Slot `slot` of a trajectory.
static Value emitSlot(OpBuilder &builder, Location loc, Value trajectory, OpFoldResult slot) {
  memref::SubViewOp slice =
      emitSlice(builder, loc, trajectory, /*dim=*/1, slot, builder.getIndexAttr(1));
  SmallVector<int64_t> shape(slice.getType().getShape());
  shape.erase(shape.begin() + 1);
  return memref::SubViewOp::rankReduceIfNeeded(builder, loc, slice, shape).value();
}

/// Initial states stand in the first slot of each block, which the one before has written.
void StepGroup::emitInitialStates(OpBuilder &builder, Location loc) const {
  for (RecurrenceOp loop : loopsWithStates)
    for (auto [initial, trajectory] : llvm::zip(loop.getInitial(), getTrajectories(loop)))
      memref::CopyOp::create(builder, loc, initial,
                             emitSlot(builder, loc, trajectory, builder.getIndexAttr(0)));
}

/// What graph operations have of steps [first, first + count): rows, so that their types say that
/// nothing lies between them.
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

/// Emits the operations for steps [first, first + count).
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
  moveOthersAway(ops);
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
