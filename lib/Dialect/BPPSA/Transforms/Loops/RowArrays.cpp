//===- RowArrays.cpp - conversion of samples and rows ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowArrays.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

Value RowArrays::generate(OpBuilder &builder, ArrayRef<OpFoldResult> sizes, ValueRange inputs,
                          ArrayRef<AffineMap> maps, Element element) {
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, builder.getF32Type());
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(3));
  SmallVector<utils::IteratorType> iterators(3, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location, ValueRange in) {
    SmallVector<Value> indices;
    for (int64_t dim = 0; dim < 3; ++dim)
      indices.push_back(linalg::IndexOp::create(nested, loc, dim));
    linalg::YieldOp::create(nested, loc, element(nested, in.drop_back(), indices));
  };
  return linalg::GenericOp::create(builder, loc, empty.getType(), inputs, empty, allMaps, iterators,
                                   body)
      .getResult(0);
}

Value RowArrays::generateRows(OpFoldResult features, Element element) {
  AffineMap slot = b.getMultiDimIdentityMap(3).getSubMap({0, 1});
  return generate(b, {schedule.slots, schedule.rows, features}, {schedule.sequence, schedule.step},
                  {slot, slot}, element);
}

Value RowArrays::join(Value sequence) {
  return generateRows(tensor::getMixedSize(b, loc, sequence, 2),
                      [&](OpBuilder &nested, ValueRange in, ArrayRef<Value> indices) -> Value {
                        Value none = constant(nested, 0);
                        Value isStep = compare(nested, arith::CmpIPredicate::sge, in[1], none);
                        Value sample = arith::MaxSIOp::create(nested, loc, in[0], none);
                        Value step = arith::MaxSIOp::create(nested, loc, in[1], none);
                        Value found = tensor::ExtractOp::create(
                            nested, loc, sequence, ValueRange{step, sample, indices[2]});
                        return arith::SelectOp::create(nested, loc, isStep, found, zero(nested));
                      });
}

Value RowArrays::isFirst(OpBuilder &nested, ValueRange in, bool reverse) {
  if (!reverse)
    return compare(nested, arith::CmpIPredicate::eq, in[1], constant(nested, 0));
  // Unused slots have step -1, which would match the last step of an empty sequence.
  Value sample = arith::MaxSIOp::create(nested, loc, in[0], constant(nested, 0));
  Value length = tensor::ExtractOp::create(nested, loc, schedule.length, sample);
  Value next = arith::AddIOp::create(nested, loc, in[1], constant(nested, 1));
  Value isLast = compare(nested, arith::CmpIPredicate::eq, next, length);
  Value isStep = compare(nested, arith::CmpIPredicate::sge, in[1], constant(nested, 0));
  return arith::AndIOp::create(nested, loc, isLast, isStep);
}

Value RowArrays::joinInitial(Value initial, bool reverse) {
  return generateRows(tensor::getMixedSize(b, loc, initial, 1),
                      [&](OpBuilder &nested, ValueRange in, ArrayRef<Value> indices) -> Value {
                        Value sample =
                            arith::MaxSIOp::create(nested, loc, in[0], constant(nested, 0));
                        Value found = tensor::ExtractOp::create(nested, loc, initial,
                                                                ValueRange{sample, indices[2]});
                        return arith::SelectOp::create(nested, loc, isFirst(nested, in, reverse),
                                                       found, zero(nested));
                      });
}

Value RowArrays::createKeepMask(bool reverse) {
  return generateRows(
      b.getIndexAttr(1), [&](OpBuilder &nested, ValueRange in, ArrayRef<Value>) -> Value {
        Value isStep = compare(nested, arith::CmpIPredicate::sge, in[1], constant(nested, 0));
        Value goesOn =
            arith::SelectOp::create(nested, loc, isFirst(nested, in, reverse),
                                    arith::ConstantIntOp::create(nested, loc, 0, 1), isStep);
        return arith::UIToFPOp::create(nested, loc, b.getF32Type(), goesOn);
      });
}

Value RowArrays::split(OpBuilder &builder, Value states, Value initial, OpFoldResult offset,
                       OpFoldResult count, bool reverse) {
  AffineMap all = b.getMultiDimIdentityMap(3), sample = all.getSubMap({1});
  Value first = getValueOrCreateConstantIndexOp(builder, loc, offset);
  SmallVector<OpFoldResult> sizes = {count, tensor::getMixedSize(builder, loc, initial, 0),
                                     tensor::getMixedSize(builder, loc, initial, 1)};
  return generate(builder, sizes, {schedule.length, schedule.row, schedule.start, initial},
                  {sample, sample, sample, all.getSubMap({1, 2})},
                  [&](OpBuilder &nested, ValueRange in, ArrayRef<Value> indices) -> Value {
                    Value slot = arith::AddIOp::create(nested, loc, indices[0], first);
                    // Step whose result is in the slot; slots of initial states have none.
                    Value step = slot, isInitial;
                    if (reverse) {
                      isInitial = compare(nested, arith::CmpIPredicate::sge, slot, in[0]);
                    } else {
                      Value taken = arith::MinSIOp::create(nested, loc, slot, in[0]);
                      step = arith::SubIOp::create(nested, loc, taken, constant(nested, 1));
                      isInitial =
                          compare(nested, arith::CmpIPredicate::slt, step, constant(nested, 0));
                    }
                    Value origin = constant(nested, 0);
                    Value place = arith::AddIOp::create(nested, loc, in[2], step);
                    Value row = arith::SelectOp::create(nested, loc, isInitial, origin, in[1]);
                    place = arith::SelectOp::create(nested, loc, isInitial, origin, place);
                    Value found = tensor::ExtractOp::create(nested, loc, states,
                                                            ValueRange{place, row, indices[2]});
                    return arith::SelectOp::create(nested, loc, isInitial, in[3], found);
                  });
}
