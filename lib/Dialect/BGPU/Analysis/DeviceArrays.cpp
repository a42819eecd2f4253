//===- DeviceArrays.cpp - vector copies on a GPU --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/Analysis/DeviceArrays.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

int64_t bppsa::getAlignedElements(MemRefType array, int64_t most) {
  auto [strides, offset] = array.getStridesAndOffset();
  ArrayRef<int64_t> outer = ArrayRef(strides).drop_back();
  int64_t count = array.getShape().back();
  // Dynamic strides and offsets of whole vectors are multiples of a static stride.
  bool isStatic =
      llvm::any_of(outer, [](int64_t stride) { return !ShapedType::isDynamic(stride); });
  bool isWhole = llvm::is_contained(outer, count);
  bool isKnown = isWhole || (isStatic && !ShapedType::isDynamic(offset));
  int64_t width = isKnown && strides.back() == 1 ? most : 1;
  auto isMultiple = [&](int64_t size) { return ShapedType::isDynamic(size) || size % width == 0; };
  while (width > 1 && !(isMultiple(count) && isMultiple(offset) && llvm::all_of(outer, isMultiple)))
    width /= 2;
  return width;
}

int64_t bppsa::getCopyWidth(MemRefType array, int64_t numThreads) {
  bool isLong = array.getShape().back() > numThreads;
  return isLong && getAlignedElements(array) == kElementsPerAccess ? kElementsPerAccess : 1;
}

int64_t bppsa::getStagedRows(MemRefType array) {
  return llvm::alignTo(array.getShape().back(),
                       cost::kWarpThreads * getCopyWidth(array, cost::kWarpThreads));
}

static MemRefType getArrayType(Value source) {
  auto type = cast<ShapedType>(source.getType());
  auto array = dyn_cast<MemRefType>(type);
  return array ? array : MemRefType::get(type.getShape(), type.getElementType());
}

int64_t bppsa::getStagedBytes(ValueRange sources, int64_t stages) {
  int64_t bytes = 0;
  for (Value source : sources)
    bytes += stages * getStagedRows(getArrayType(source)) * 4;
  return bytes;
}

int64_t bppsa::countStages(ValueRange sources, int64_t maxBytes) {
  // Asynchronous copies move at least four bytes, here one element.
  auto canCopy = [](Value source) {
    return cast<ShapedType>(source.getType()).getElementTypeBitWidth() == 32;
  };
  return llvm::all_of(sources, canCopy) ? cost::countStages(getStagedBytes(sources, 1), maxBytes)
                                        : 0;
}
