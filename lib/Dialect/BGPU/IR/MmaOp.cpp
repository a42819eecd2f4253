//===- MmaOp.cpp - tensor-core products of tiles --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::bgpu;

LogicalResult MmaOp::verify() {
  auto sums = cast<RankedTensorType>(getC().getType());
  if (getReplicas(sums) != 1 || sums.getNumElements() % cost::kWarpThreads != 0)
    return emitOpError("needs tiles with an element for each thread of whole warps, but has ")
           << sums << "; give them a multiple of 32 elements";
  int64_t depth = getTileDepth(getPrecision());
  auto verifyFragments = [&](StringRef name, Type tile, int64_t size) -> LogicalResult {
    auto fragment = VectorType::get(size, Float32Type::get(getContext()));
    auto own = RankedTensorType::get(sums.getShape(), fragment);
    if (tile == own)
      return success();
    return emitOpError("needs a tile of type ")
           << own << " for " << name << " with precision '"
           << stringifyTensorPrecision(getPrecision()) << "', but has " << tile;
  };
  return failure(failed(verifyFragments("C", sums, 4)) ||
                 failed(verifyFragments("A", getA().getType(), depth / 2)) ||
                 failed(verifyFragments("B", getB().getType(), depth / 4)));
}
