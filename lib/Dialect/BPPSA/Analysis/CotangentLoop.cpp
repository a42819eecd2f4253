//===- CotangentLoop.cpp - chains after bufferization ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "mlir/IR/IRMapping.h"
#include <numeric>

using namespace mlir;
using namespace bppsa;

/// Cotangents follow `numSaved` saved values in the arguments of `body`.
static SmallVector<int64_t> getStateSizes(Block &body, size_t numSaved, size_t numStates) {
  return llvm::map_to_vector(
      body.getArguments().slice(numSaved, numStates),
      [](BlockArgument state) { return cast<VectorType>(state.getType()).getDimSize(0); });
}

CotangentLoop bppsa::getCotangentLoop(ChainOp op) {
  Block &body = op.getBody().front();
  return {op,
          &body,
          op.getSaved(),
          op.getSeeds(),
          op.getInjected(),
          op.getFactors(),
          op.getCaptures(),
          op.getDestinations(),
          op.getInjectInto(),
          op.getSumWith(),
          op.getReverse(),
          op.getFlatSums(),
          getStateSizes(body, op.getSaved().size(), op.getSeeds().size())};
}

CotangentLoop bppsa::getCotangentLoop(TransitionOp op) {
  return {op,
          &op.getBody().front(),
          op.getSaved(),
          /*seeds=*/{},
          op.getInjected(),
          /*factors=*/{},
          op.getCaptures(),
          /*destinations=*/{},
          op.getInjectInto(),
          /*sumWith=*/{},
          op.getReverse(),
          /*flatSums=*/false,
          SmallVector<int64_t>(op.getStates())};
}

ValueRange CotangentLoop::getEmitted() const {
  return destinations.drop_front(getNumStates()).drop_back(getSums().size());
}

ValueRange CotangentLoop::getSums() const {
  return destinations.take_back(flatSums ? 1 : sumWith.size());
}

Type CotangentLoop::getElementType() const {
  return getElementTypeOrSelf(body->getArgument(saved.size()).getType());
}

int64_t CotangentLoop::getTotalSize() const {
  return std::accumulate(stateSizes.begin(), stateSizes.end(), int64_t(0));
}

std::unique_ptr<Region> bppsa::cloneLink(const CotangentLoop &loop, LinkOptions options) {
  auto region = std::make_unique<Region>();
  IRMapping mapping;
  loop.body->getParent()->cloneInto(region.get(), mapping);
  Block &body = region->front();
  size_t numSaved = loop.saved.size(), numStates = loop.getNumStates();
  if (options.inject)
    addInjection(body, loop.injectInto, numSaved, numSaved + numStates);
  if (!options.emit)
    yieldOnly(body, 0, numStates);
  fuseProductSums(body);
  return region;
}

AffineMapLayout AffineMapLayout::get(const CotangentLoop &loop) {
  if (auto transition = dyn_cast<TransitionOp>(loop.op))
    return {loop.getTotalSize(), !loop.injected.empty(), transition.getDiagonal(),
            transition.getByRows()};
  jacobian::StructureAttr structure = cast<ChainOp>(loop.op).getStructureAttr();
  return {loop.getTotalSize(), !loop.injected.empty(), structure && structure.isDiagonal()};
}

AffineMapLayout AffineMapLayout::get(ApplyTransitionOp op) {
  ArrayRef<int64_t> shape = cast<ShapedType>(op.getTransition().getType()).getShape();
  int64_t size = shape[2], columns = op.getDiagonal() ? 1 : size;
  return {size, shape[1] > columns, op.getDiagonal(), op.getByRows()};
}
