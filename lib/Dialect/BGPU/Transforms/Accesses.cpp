//===- Accesses.cpp - memory accesses of blocks ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Accesses.h"
#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace bppsa::bgpu;

static bool isShared(Value array) {
  return array &&
         gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(cast<MemRefType>(array.getType()));
}

/// Returns true if the views belong to different results of the same `memref.distinct_objects`.
static bool areDistinctObjects(ArrayRef<Value> objects, ArrayRef<Value> others) {
  return llvm::any_of(objects, [&](Value object) {
    return llvm::any_of(others, [&](Value other) {
      return object != other && object.getDefiningOp() == other.getDefiningOp();
    });
  });
}

/// Shared-memory arrays never alias; device arrays may be views of the same memory.
Scope Access::findConflict(const Access &other) const {
  if (!writes && !other.writes)
    return Scope::None;
  if (!array || !other.array)
    return Scope::Block;
  if (areDistinctObjects(objects, other.objects))
    return Scope::None;
  if (array != other.array)
    return isShared(array) || isShared(other.array) ? Scope::None : Scope::Block;
  // Tiles with the same row shape and first row give each element to the same thread.
  if (owners && other.owners && owners->row == other.owners->row &&
      (owners->first == other.owners->first || owners->first >= other.owners->last ||
       other.owners->first >= owners->last))
    return Scope::None;
  return ofWarp && other.ofWarp ? Scope::Warp : Scope::Block;
}

static bool keepsLastDims(memref::SubViewOp view, int64_t count) {
  auto is = [](ArrayRef<OpFoldResult> values, int64_t number) {
    return llvm::all_of(values, [&](OpFoldResult v) { return isConstantIntValue(v, number); });
  };
  int64_t rank = view.getSourceType().getRank();
  llvm::SmallBitVector dropped = view.getDroppedDims();
  for (int64_t dim = rank - count; dim < rank; ++dim)
    if (dropped.test(dim))
      return false;
  SmallVector<OpFoldResult> offsets = view.getMixedOffsets(), strides = view.getMixedStrides();
  return is(ArrayRef(offsets).take_back(count), 0) && is(ArrayRef(strides).take_back(count), 1);
}

/// Parses a loop induction variable, the low bits of an index plus a constant, or the other of two
/// slots.
static std::optional<Access::Slot> parseSlot(Value number) {
  if (scf::getForInductionVarOwner(number))
    return Access::Slot{number, 0, 0};
  if (auto other = number.getDefiningOp<arith::XOrIOp>()) {
    std::optional<Access::Slot> slot = parseSlot(other.getLhs());
    if (!slot || slot->count != 2 || !isConstantIntValue(other.getRhs(), 1))
      return {};
    return Access::Slot{slot->index, slot->offset + 1, 2};
  }
  auto bits = number.getDefiningOp<arith::AndIOp>();
  std::optional<int64_t> mask = bits ? getConstantIntValue(bits.getRhs()) : std::nullopt;
  if (!mask || *mask <= 0 || !llvm::isPowerOf2_64(*mask + 1))
    return {};
  auto sum = bits.getLhs().getDefiningOp<arith::AddIOp>();
  std::optional<int64_t> offset = sum ? getConstantIntValue(sum.getRhs()) : std::nullopt;
  return offset ? Access::Slot{sum.getLhs(), *offset, *mask + 1}
                : Access::Slot{bits.getLhs(), 0, *mask + 1};
}

static std::optional<Access::Slot> getSlot(memref::SubViewOp view) {
  bool isOne = view.getType().getRank() + 1 == view.getSourceType().getRank() &&
               view.getDroppedDims().test(0);
  auto slot = isOne ? dyn_cast<Value>(view.getMixedOffsets()[0]) : Value();
  return slot ? parseSlot(slot) : std::nullopt;
}

static Value walkViews(Value view, function_ref<void(Value)> visit) {
  while (Operation *op = view.getDefiningOp()) {
    auto distinct = dyn_cast<memref::DistinctObjectsOp>(op);
    auto viewLike = dyn_cast<ViewLikeOpInterface>(op);
    if (!distinct && !viewLike)
      break;
    visit(view);
    view = distinct ? distinct.getOperand(cast<OpResult>(view).getResultNumber())
                    : viewLike.getViewSource();
  }
  return view;
}

static bool keepsDim(Value view, int64_t dim) {
  bool keeps = true;
  walkViews(view, [&](Value part) {
    if (auto subview = part.getDefiningOp<memref::SubViewOp>())
      keeps &= subview.getDroppedDims().none() &&
               isConstantIntValue(subview.getMixedOffsets()[dim], 0) &&
               isConstantIntValue(subview.getMixedStrides()[dim], 1);
    else
      keeps &= isa<memref::CastOp, memref::DistinctObjectsOp>(part.getDefiningOp());
  });
  return keeps;
}

static Value getArray(Value view, int64_t count, bool &keeps, Access &access) {
  memref::SubViewOp last;
  Value array = walkViews(view, [&](Value part) {
    if (part.getDefiningOp<memref::DistinctObjectsOp>()) {
      access.objects.push_back(part);
      return;
    }
    last = part.getDefiningOp<memref::SubViewOp>();
    keeps =
        keeps && (last ? keepsLastDims(last, count) : isa<memref::CastOp>(part.getDefiningOp()));
  });
  access.slot = last ? getSlot(last) : std::nullopt;
  return array;
}

/// Surplus threads may share the last row of `tile`.
static bool hasRowsOfWarps(RankedTensorType tile, Operation *op) {
  int64_t threads = op->getParentOfType<KernelOp>().getThreads();
  return tile.getRank() > 0 && countThreads(tile) == threads &&
         tile.getDimSize(0) * bppsa::cost::kWarpThreads == threads;
}

/// A replicated element is written by one thread and may be read by any.
static Access getRows(Operation *op, Value buffer, RankedTensorType tile, int64_t first,
                      bool writes) {
  bool keeps = getReplicas(tile) == 1;
  Access access = {Value(), writes, {}};
  access.array = getArray(buffer, tile.getRank(), keeps, access);
  auto row = llvm::to_vector<2>(tile.getShape().drop_front());
  if (keeps)
    access.owners = Access::Owners{row, first, first + tile.getDimSize(0)};
  access.ofWarp = first == 0 && hasRowsOfWarps(tile, op) && keepsDim(buffer, 0);
  return access;
}

/// The types determine the thread of each element. Written elements are also read.
static Access getSums(AccumulateOp op) {
  bool keeps = true;
  Access access = {Value(), /*writes=*/true, {}};
  access.array = getArray(op.getArray(), 0, keeps, access);
  SmallVector<int64_t, 2> row = {op.getNumColumns(), op.getNumParts()};
  int64_t rows = cast<MemRefType>(op.getArray().getType()).getShape().back();
  access.owners = Access::Owners{row, 0, rows};
  return access;
}

namespace {
class AccessCollector {
public:
  explicit AccessCollector(Operation *op);
  LogicalResult visit(Operation *inner);
  SmallVector<Access> take() { return std::move(accesses); }

private:
  void add(Value view, ValueRange indices, bool writes, bool isElement = true);
  std::optional<Access::Slot> findSlot(Value view, ValueRange indices) const;
  void addCopy(nvgpu::DeviceAsyncCopyOp copy);

  Operation *op;
  ArrayRef<int64_t> shape;
  ValueRange position;
  Value warp;
  SmallVector<Access> accesses;
};
} // namespace

AccessCollector::AccessCollector(Operation *op) : op(op) {
  if (auto each = dyn_cast<ForEachOp>(op); each && each.getReplicas() == 1)
    shape = each.getShape();
  else if (auto generate = dyn_cast<tensor::GenerateOp>(op))
    shape = cast<RankedTensorType>(generate.getType()).getShape();
  if (!shape.empty())
    position = op->getRegion(0).front().getArguments().take_front(shape.size());
  if (auto each = dyn_cast<ForEachOp>(op); each && hasRowsOfWarps(each.getPositions(), op))
    warp = each.getBody().getArgument(0);
}

std::optional<Access::Slot> AccessCollector::findSlot(Value view, ValueRange indices) const {
  for (auto [dim, index] : llvm::enumerate(indices)) {
    std::optional<Access::Slot> slot = parseSlot(index);
    if (!slot || op->isAncestor(slot->index.getParentRegion()->getParentOp()) ||
        !keepsDim(view, dim))
      continue;
    slot->dim = dim;
    return slot;
  }
  return {};
}

/// A thread accesses only its own elements if the last indices are its position.
void AccessCollector::add(Value view, ValueRange indices, bool writes, bool isElement) {
  bool isOwn = isElement && !shape.empty() && indices.size() >= shape.size() &&
               indices.take_back(shape.size()) == position;
  Access access = {Value(), writes, {}};
  access.array = getArray(view, shape.size(), isOwn, access);
  // Allocations in the body are private to a thread.
  Operation *allocation = access.array.getDefiningOp();
  if (allocation && op->isProperAncestor(allocation))
    return;
  if (isOwn)
    access.owners = Access::Owners{llvm::to_vector<2>(shape.drop_front()), 0, shape.front()};
  access.ofWarp = warp && !indices.empty() && indices.front() == warp && keepsDim(view, 0);
  if (!access.slot)
    access.slot = findSlot(view, indices);
  if (!llvm::is_contained(accesses, access))
    accesses.push_back(access);
}

void AccessCollector::addCopy(nvgpu::DeviceAsyncCopyOp copy) {
  Access access = {Value(), /*writes=*/true, {}};
  bool keeps = false;
  access.array = getArray(copy.getDst(), 0, keeps, access);
  if (access.array == copy.getDst() && copy.getDstIndices().size() > 1)
    access.slot = parseSlot(copy.getDstIndices()[0]);
  access.isCopy = true;
  if (!llvm::is_contained(accesses, access))
    accesses.push_back(access);
}

LogicalResult AccessCollector::visit(Operation *inner) {
  // A fence only orders accesses of its own thread.
  if (isa<nvgpu::DeviceAsyncCreateGroupOp, LLVM::FenceOp>(inner))
    return success();
  if (auto copy = dyn_cast<nvgpu::DeviceAsyncCopyOp>(inner)) {
    addCopy(copy);
    return success();
  }
  if (auto get = dyn_cast<GetOp>(inner)) {
    accesses.push_back(
        getRows(get, get.getBuffer(), get.getType(), get.getFirst(), /*writes=*/false));
  } else if (auto put = dyn_cast<PutOp>(inner)) {
    auto tile = cast<RankedTensorType>(put.getTile().getType());
    accesses.push_back(getRows(put, put.getBuffer(), tile, put.getFirst(), /*writes=*/true));
  } else if (auto accumulate = dyn_cast<AccumulateOp>(inner)) {
    accesses.push_back(getSums(accumulate));
  } else if (auto load = dyn_cast<memref::LoadOp>(inner)) {
    add(load.getMemRef(), load.getIndices(), /*writes=*/false);
  } else if (auto store = dyn_cast<memref::StoreOp>(inner)) {
    add(store.getMemRef(), store.getIndices(), /*writes=*/true);
  } else if (auto load = dyn_cast<vector::LoadOp>(inner)) {
    ValueRange indices = load.getIndices().drop_back(load.getVectorType().getRank());
    add(load.getBase(), indices, /*writes=*/false, /*isElement=*/false);
  } else if (auto memory = dyn_cast<MemoryEffectOpInterface>(inner)) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    memory.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      bool writes = isa<MemoryEffects::Write>(effect.getEffect());
      if (!writes && !isa<MemoryEffects::Read>(effect.getEffect()))
        continue;
      if (Value view = effect.getValue(); view && isa<MemRefType>(view.getType()))
        add(view, {}, writes);
      else
        accesses.push_back({Value(), writes, {}});
    }
  } else if (!inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
    return inner->emitOpError("has unknown memory effects in a kernel; use operations that declare "
                              "their reads and writes");
  }
  return success();
}

FailureOr<SmallVector<Access>> bppsa::bgpu::getAccesses(Operation *op) {
  AccessCollector collector(op);
  WalkResult result = op->walk([&](Operation *inner) {
    return failed(collector.visit(inner)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return collector.take();
}
