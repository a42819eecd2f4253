//===- BlockRows.cpp - block graph operations over rows -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A loss on every step reads the scores of all steps several times, from memory if sequences are
// long. The rows are independent, so this pass processes them in blocks.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "RowOps.h"
#include "Slices.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_BLOCKROWS
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Blocks have a multiple of this number of rows, so that vectors are full.
static constexpr int64_t kRowStep = 64;

static std::optional<int64_t> countRowBytes(Value array, unsigned rowDims) {
  auto type = cast<MemRefType>(array.getType());
  ArrayRef<int64_t> row = type.getShape().drop_front(rowDims);
  if (ShapedType::isDynamicShape(row))
    return std::nullopt;
  Type element = type.getElementType();
  unsigned bits = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                    : std::max(8u, element.getIntOrFloatBitWidth());
  return ShapedType::getNumElements(row) * bits / 8;
}

namespace {
/// Consecutive operations on the same rows.
class RowGroup {
public:
  explicit RowGroup(int64_t bytes) : bytes(bytes) {}

  bool add(Operation *op);
  bool isWorthBlocks() const;
  void emit();

private:
  std::optional<int64_t> countRowBytes(const SetVector<Value> &all, unsigned dims) const;
  bool uses(Value root) const;
  bool isLocal(Value array) const;
  Value emitBuffer(OpBuilder &builder, Location loc, Value array, Value count) const;
  void emitBlock(OpBuilder &builder, Value first, Value count,
                 const llvm::MapVector<Value, Value> &rows) const;

  int64_t bytes, blockRows = 0;
  unsigned rowDims = 0;
  SmallVector<Operation *> ops;
  SetVector<Value> arrays;
  DenseSet<Value> others, written;
  /// Fills of arrays that the group has not used yet remain before the group.
  DenseMap<Value, Operation *> fills;
};
} // namespace

std::optional<int64_t> RowGroup::countRowBytes(const SetVector<Value> &all, unsigned dims) const {
  int64_t sum = 0;
  for (Value array : all) {
    std::optional<int64_t> row = ::countRowBytes(array, dims);
    if (!row)
      return std::nullopt;
    sum += *row;
  }
  return sum * kRowStep <= bytes ? std::optional(sum) : std::nullopt;
}

bool RowGroup::uses(Value root) const {
  return others.contains(root) ||
         llvm::any_of(arrays, [&](Value array) { return getViewRoot(array) == root; });
}

bool RowGroup::add(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  unsigned dims = linalgOp ? countRowLoops(linalgOp) : 0;
  if (dims == 0)
    return false;
  if (isa<linalg::FillOp>(op) && !uses(getViewRoot(op->getOperand(1)))) {
    fills[op->getOperand(1)] = op;
    return true;
  }
  SetVector<Value> joined = arrays;
  DenseSet<Value> joinedOthers = others, joinedWritten = written;
  bool shares = ops.empty();
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!isa<MemRefType>(value.getType()))
      continue;
    if (!hasRows(operand)) {
      joinedOthers.insert(getViewRoot(value));
      continue;
    }
    shares |= arrays.contains(value);
    joined.insert(value);
    if (linalgOp.isDpsInit(&operand))
      joinedWritten.insert(getViewRoot(value));
  }
  dims = ops.empty() ? dims : std::min(dims, rowDims);
  std::optional<int64_t> rowBytes = countRowBytes(joined, dims);
  // Another view of a written array may have other rows.
  auto isOtherView = [&](Value array) {
    Value root = getViewRoot(array);
    return joinedWritten.contains(root) && llvm::any_of(joined, [&](Value other) {
             return other != array && getViewRoot(other) == root;
           });
  };
  if (!shares || !rowBytes || llvm::any_of(joined, isOtherView) ||
      llvm::any_of(joinedWritten, [&](Value root) { return joinedOthers.contains(root); }))
    return false;
  rowDims = dims;
  blockRows = bytes / *rowBytes / kRowStep * kRowStep;
  arrays = std::move(joined);
  others = std::move(joinedOthers);
  written = std::move(joinedWritten);
  for (OpOperand &result : linalgOp.getDpsInitsMutable())
    if (Operation *fill = fills.lookup(result.get())) {
      ops.push_back(fill);
      fills.erase(result.get());
    }
  ops.push_back(op);
  return true;
}

bool RowGroup::isWorthBlocks() const {
  if (llvm::all_of(arrays, [&](Value array) { return isLocal(array); }))
    return false;
  auto hasLongRows = [&](Operation *op) {
    return !isa<linalg::FillOp>(op) && llvm::any_of(op->getOperands(), [&](Value value) {
      return arrays.contains(value) &&
             cast<MemRefType>(value.getType()).getRank() > static_cast<int64_t>(rowDims);
    });
  };
  return llvm::count_if(ops, hasLongRows) > 1;
}

bool RowGroup::isLocal(Value array) const {
  if (!isUsedOnlyBy(array, ops))
    return false;
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == array)
        return !cast<linalg::LinalgOp>(op).payloadUsesValueFromOperand(&operand);
  return false;
}

Value RowGroup::emitBuffer(OpBuilder &builder, Location loc, Value array, Value count) const {
  auto type = cast<MemRefType>(array.getType());
  SmallVector<int64_t> shape = {blockRows};
  llvm::append_range(shape, type.getShape().drop_front(rowDims));
  Value buffer = memref::AllocaOp::create(
      builder, loc, MemRefType::get(shape, type.getElementType()), builder.getI64IntegerAttr(64));
  return emitSlice(builder, loc, buffer, /*dim=*/0, builder.getIndexAttr(0), count);
}

void RowGroup::emitBlock(OpBuilder &builder, Value first, Value count,
                         const llvm::MapVector<Value, Value> &rows) const {
  IRMapping mapping;
  for (Value array : arrays) {
    Location loc = ops.back()->getLoc();
    if (Value all = rows.lookup(array))
      mapping.map(array, emitSlice(builder, loc, all, /*dim=*/0, first, count));
    else
      mapping.map(array, emitBuffer(builder, loc, array, count));
  }
  for (Operation *op : ops)
    emitOnRows(builder, cast<linalg::LinalgOp>(op), rowDims, mapping);
}

void RowGroup::emit() {
  isolateGroup(ops);
  OpBuilder builder(ops.front());
  Location loc =
      builder.getFusedLoc(llvm::map_to_vector(ops, [](Operation *op) { return op->getLoc(); }));
  llvm::MapVector<Value, Value> rows;
  SmallVector<Value> locals;
  for (Value array : arrays) {
    if (isLocal(array))
      locals.push_back(array);
    else
      rows[array] = collapseRows(builder, loc, array, rowDims);
  }
  Value all = getDim(builder, loc, rows.front().second, 0);
  Value length = getIndex(builder, loc, blockRows);
  Value blocks = arith::CeilDivUIOp::create(builder, loc, all, length);
  auto loop = scf::ForallOp::create(builder, loc, ArrayRef<OpFoldResult>{blocks}, ValueRange(),
                                    std::nullopt);
  builder.setInsertionPointToStart(loop.getBody());
  Value first = mulIndex(builder, loc, loop.getInductionVar(0), length);
  Value left = arith::SubIOp::create(builder, loc, all, first);
  emitBlock(builder, first, minIndex(builder, loc, left, length), rows);
  llvm::for_each(ops, [](Operation *op) { op->erase(); });
  for (Value array : locals)
    eraseMemory(array.getDefiningOp());
}

namespace {
struct BlockRows : public bppsa::impl::BlockRowsBase<BlockRows> {
  using BlockRowsBase::BlockRowsBase;

  void runOnOperation() override {
    SmallVector<RowGroup, 0> groups;
    getOperation().walk([&](Block *block) {
      if (isa<func::FuncOp, scf::ForOp>(block->getParentOp()))
        llvm::append_range(groups, findGroups(*block, RowGroup(bytes)));
    });
    for (RowGroup &group : groups)
      group.emit();
    numGroups += groups.size();
  }
};
} // namespace
