//===- TrajectoryCotangent.cpp - split trajectory cotangents --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../TensorBuilders.h"
#include "RecurrenceVJP.h"
#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// A term of a cotangent: `value` at the slots `[offset, offset + size)`.
struct SlotTerm {
  AffineExpr offset, size;
  Value value;
};
} // namespace

static bool insertsSlots(tensor::InsertSliceOp slice, SymbolicSizes &sizes) {
  MLIRContext *context = slice.getContext();
  for (int64_t i = 0, rank = slice.getDestType().getRank(); i < rank; ++i) {
    if (!isConstantIntValue(slice.getMixedStrides()[i], 1))
      return false;
    bool isWhole = isConstantIntValue(slice.getMixedOffsets()[i], 0) &&
                   sizes.areEqual(sizes.get(slice.getMixedSizes()[i], context),
                                  sizes.getSize(slice.getDest(), i));
    if (i != 0 && !isWhole)
      return false;
  }
  int64_t sourceRank = slice.getSourceType().getRank(), destRank = slice.getDestType().getRank();
  return isZeros(slice.getDest()) &&
         (sourceRank == destRank ||
          (sourceRank == destRank - 1 && isConstantIntValue(slice.getMixedSizes()[0], 1)));
}

/// Uses a worklist because sums nest as deeply as the trajectory has users.
static SmallVector<SlotTerm> collectTerms(SlotTerm whole, SymbolicSizes &sizes) {
  SmallVector<SlotTerm> terms, worklist = {whole};
  while (!worklist.empty()) {
    auto [offset, size, value] = worklist.pop_back_val();
    if (isZeros(value))
      continue;
    if (auto sum = matchAdd(value)) {
      worklist.push_back({offset, size, sum->second});
      worklist.push_back({offset, size, sum->first});
      continue;
    }
    auto slice = value.getDefiningOp<tensor::InsertSliceOp>();
    if (!slice || !insertsSlots(slice, sizes)) {
      terms.push_back({offset, size, value});
      continue;
    }
    MLIRContext *context = value.getContext();
    worklist.push_back({offset + sizes.get(slice.getMixedOffsets()[0], context),
                        sizes.get(slice.getMixedSizes()[0], context), slice.getSource()});
  }
  return terms;
}

static Value createSlot(OpBuilder &builder, Value value, Type type) {
  Location loc = value.getLoc();
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (rank != cast<RankedTensorType>(type).getRank()) {
    SmallVector<ReassociationIndices> groups = {{0, 1}};
    for (int64_t dim = 2; dim < rank; ++dim)
      groups.push_back({dim});
    value = tensor::CollapseShapeOp::create(builder, loc, value, groups);
  }
  return builder.createOrFold<tensor::CastOp>(loc, type, value);
}

static void accumulate(OpBuilder &builder, Value &sum, Value value) {
  sum = sum ? createAdd(builder, value.getLoc(), sum, value) : value;
}

static Value extractSlots(OpBuilder &builder, Value source, OpFoldResult offset,
                          OpFoldResult size) {
  Location loc = source.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, source);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[0] = offset;
  sizes[0] = size;
  return tensor::ExtractSliceOp::create(builder, loc, source, offsets, sizes, strides);
}

static OpFoldResult getNumSteps(RecurrenceOp op, OpBuilder &builder) {
  return op.getSequences().empty()
             ? OpFoldResult(op.getSteps())
             : tensor::getMixedSize(builder, op.getLoc(), op.getSequences()[0], 0);
}

Value bppsa::createTrajectorySlice(RecurrenceOp op, unsigned state, bool afterStep,
                                   OpBuilder &builder) {
  OpFoldResult steps = getNumSteps(op, builder);
  int64_t offset = afterStep != op.getReverse() ? 1 : 0;
  return extractSlots(builder, op.getTrajectories()[state], builder.getIndexAttr(offset), steps);
}

StateCotangent bppsa::splitTrajectoryCotangent(RecurrenceOp op, unsigned state, Value cotangent,
                                               OpBuilder &builder) {
  MLIRContext *context = op.getContext();
  Type slotType = op.getInitial()[state].getType();
  SymbolicSizes sizes;
  AffineExpr zero = getAffineConstantExpr(0, context), one = zero + 1;
  AffineExpr steps = op.getSequences().empty() ? sizes.get(op.getSteps(), context)
                                               : sizes.getSize(op.getSequences()[0], 0);
  AffineExpr initialSlot = op.getReverse() ? steps : zero;
  AffineExpr finalSlot = op.getReverse() ? zero : steps;
  AffineExpr firstAfterStep = op.getReverse() ? zero : one;

  StateCotangent split;
  for (const SlotTerm &term : collectTerms({zero, steps + 1, cotangent}, sizes)) {
    bool isSlot = sizes.areEqual(term.size, one);
    if (isSlot && sizes.areEqual(term.offset, finalSlot)) {
      accumulate(builder, split.seed, createSlot(builder, term.value, slotType));
    } else if (isSlot && sizes.areEqual(term.offset, initialSlot)) {
      accumulate(builder, split.initial, createSlot(builder, term.value, slotType));
    } else if (sizes.areEqual(term.offset, firstAfterStep) && sizes.areEqual(term.size, steps)) {
      accumulate(builder, split.injected, term.value);
    } else {
      OpFoldResult numSteps = getNumSteps(op, builder);
      OpFoldResult slot = op.getReverse() ? numSteps : OpFoldResult(builder.getIndexAttr(0));
      int64_t offset = op.getReverse() ? 0 : 1;
      Value initial = extractSlots(builder, cotangent, slot, builder.getIndexAttr(1));
      Value after = extractSlots(builder, cotangent, builder.getIndexAttr(offset), numSteps);
      return {Value(), after, createSlot(builder, initial, slotType)};
    }
  }
  return split;
}
