//===- SliceSums.cpp - accumulate slices into one sum ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SliceSums.h"
#include "TensorBuilders.h"

using namespace mlir;
using namespace bppsa;

static std::optional<WrittenSlices> collectSlices(Value sum) {
  WrittenSlices slices;
  while (!isZeros(sum)) {
    auto insert = sum.getDefiningOp<tensor::InsertSliceOp>();
    if (!insert)
      return std::nullopt;
    slices.add(insert);
    sum = insert.getDest();
  }
  return slices;
}

bool SliceSums::insert(Value slice, Value sum) {
  auto insert = slice.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || !isZeros(insert.getDest()))
    return false;
  std::optional<WrittenSlices> slices;
  if (auto it = sums.find(sum); it != sums.end()) {
    slices = std::move(it->second);
    sums.erase(it);
  } else {
    slices = collectSlices(sum);
  }
  if (!slices || !slices->areDisjointWith(insert))
    return false;
  insert.getDestMutable().assign(sum);
  slices->add(insert);
  sums[slice] = std::move(*slices);
  return true;
}
