//===- StepSources.cpp - inputs of time loops -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepSources.h"
#include "../../../Codegen/GPU/Launch.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

KernelArrays bppsa::separateArrays(OpBuilder &builder, Location loc, ValueRange arrays) {
  llvm::SetVector<Value> all(arrays.begin(), arrays.end());
  auto distinct = memref::DistinctObjectsOp::create(builder, loc, all.getArrayRef());
  KernelArrays separate;
  for (auto [array, own] : llvm::zip_equal(all, distinct.getResults()))
    separate[array] = own;
  return separate;
}

/// All contiguous sources share one index if collapsed.
void StepSources::begin(OpBuilder &builder, const KernelArrays &arrays, Value count) {
  numSamples = count;
  inKernel = llvm::map_to_vector(sources, [&](Value source) { return arrays.lookup(source); });
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  views = llvm::map_to_vector(sources, [&](Value source) -> Value {
    auto type = cast<MemRefType>(source.getType());
    if (stages == 0 || !type.getLayout().isIdentity())
      return nullptr;
    return memref::CollapseShapeOp::create(builder, loc, source, groups);
  });
}

SmallVector<Place> StepSources::getPlaces(OpBuilder &builder, Value step, Value sample) const {
  Value vector = addIndex(builder, loc, mulIndex(builder, loc, step, numSamples), sample);
  SmallVector<Place> places;
  for (auto [source, array, view] : llvm::zip_equal(sources, inKernel, views)) {
    if (stages == 0)
      places.push_back({array, {step, sample}});
    else if (view)
      places.push_back({bgpu::FetchOp::create(builder, loc, view, vector, stages), {}});
    else
      places.push_back(
          {bgpu::FetchOp::create(builder, loc, source, ValueRange{step, sample}, stages), {}});
  }
  return places;
}
