//===- CotangentLoop.cpp - chains and scans after bufferization -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CotangentLoop.h"
#include "BodyRewrites.h"
#include "bppsa/Dialect/BPPSA/Transforms/StepJacobian.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bppsa;

ValueRange CotangentLoop::getEmitted() const {
  return destinations.drop_front(seeds.size()).drop_back(sumWith.size());
}

ValueRange CotangentLoop::getSums() const { return destinations.take_back(sumWith.size()); }

int64_t CotangentLoop::getStateSize(size_t i) const {
  return cast<MemRefType>(seeds[i].getType()).getDimSize(1);
}

int64_t CotangentLoop::getTotalSize() const {
  int64_t size = 0;
  for (size_t i = 0; i < seeds.size(); ++i)
    size += getStateSize(i);
  return size;
}

std::unique_ptr<Region> bppsa::cloneLink(const CotangentLoop &loop, WalkOptions options) {
  auto region = std::make_unique<Region>();
  IRMapping mapping;
  loop.body->getParent()->cloneInto(region.get(), mapping);
  Block &body = region->front();
  size_t numSaved = loop.saved.size(), numStates = loop.seeds.size();
  if (options.inject)
    addInjection(body, loop.injectInto, numSaved, numSaved + numStates);
  if (!options.emit)
    yieldOnly(body, numStates);
  fuseProductSums(body);
  return region;
}

AffineMapLayout AffineMapLayout::get(const CotangentLoop &loop) {
  JacobianType type = inferStepJacobian(loop.op);
  bool isDiagonal = type && type.getStructure().isDiagonal();
  return {loop.getTotalSize(), !loop.injected.empty(), isDiagonal};
}
