//===- StepOutputs.cpp - outputs of time loops ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepOutputs.h"
#include "../../../Codegen/GPU/Launch.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Value> StepOutputs::begin(OpBuilder &builder, Value ownSample, Value first,
                                      Value numPositions, bool reverse) {
  sample = ownSample;
  count = numPositions;
  views.clear();
  strides.clear();
  SmallVector<Value> carried;
  DenseMap<int64_t, size_t> known;
  for (auto [number, array] : llvm::enumerate(arrays)) {
    auto type = cast<MemRefType>(array.getType());
    views.push_back({});
    if (!type.getLayout().isIdentity())
      continue;
    Value rows = getIndex(builder, loc, type.getDimSize(2));
    Value ofStep = mulIndex(builder, loc, getDim(builder, loc, array, 1), rows);
    auto [entry, isNew] = known.try_emplace(type.getDimSize(2), carried.size());
    if (isNew) {
      carried.push_back(addIndex(builder, loc, mulIndex(builder, loc, first, ofStep),
                                 mulIndex(builder, loc, sample, rows)));
      Value zero = getIndex(builder, loc, 0);
      strides.push_back(reverse ? builder.createOrFold<arith::SubIOp>(loc, zero, ofStep) : ofStep);
    }
    OpFoldResult skipped = builder.getIndexAttr(0);
    if (number < numShifted)
      skipped = ofStep;
    views.back() = {flatten(builder, loc, array, skipped), entry->second};
  }
  return carried;
}

SmallVector<Place> StepOutputs::getPlaces(OpBuilder &builder, Value step,
                                          ValueRange carried) const {
  SmallVector<Place> places;
  for (auto [number, array, view] : llvm::enumerate(arrays, views)) {
    if (view.elements) {
      places.push_back({view.elements, {}, 0, carried[view.carried]});
      continue;
    }
    Value vector = number < numShifted ? addIndex(builder, loc, step, 1) : step;
    places.push_back({array, {vector, sample}});
  }
  return places;
}

SmallVector<Value> StepOutputs::advance(OpBuilder &builder, Value position,
                                        ValueRange carried) const {
  // Without the condition LLVM recognizes the index progression and carries an address per array.
  Value goesOn = isBelow(builder, loc, addIndex(builder, loc, position, 1), count);
  return moveIndices(builder, loc, goesOn, carried, strides);
}
