//===- ThreadLoops.cpp - loops and branches of a thread -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Loops and branches of a thread carry scalars, so that tiles and vectors stay in registers.
//
//===----------------------------------------------------------------------===//

#include "ThreadEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Value> ThreadEmitter::getNumbers(OpBuilder &builder, Location loc,
                                             ValueRange ofBlock) const {
  SmallVector<Value> numbers;
  for (Value value : ofBlock) {
    Value own = values.lookupOrDefault(value);
    auto type = dyn_cast<VectorType>(own.getType());
    if (!type)
      numbers.push_back(own);
    for (int64_t i = 0; type && i < type.getNumElements(); ++i)
      numbers.push_back(builder.createOrFold<vector::ExtractOp>(loc, own, i));
  }
  return numbers;
}

void ThreadEmitter::mapNumbers(OpBuilder &builder, Location loc, ValueRange ofBlock,
                               ValueRange numbers) {
  for (Value value : ofBlock) {
    auto type = dyn_cast<VectorType>(getThreadType(value.getType()));
    size_t count = type ? type.getNumElements() : 1;
    Value own = numbers[0];
    if (type)
      own = vector::FromElementsOp::create(builder, loc, type, numbers.take_front(count));
    values.map(value, own);
    numbers = numbers.drop_front(count);
  }
}

void ThreadEmitter::emitLoop(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  auto get = [&](Value value) { return values.lookupOrDefault(value); };
  auto threadLoop =
      scf::ForOp::create(builder, loc, get(loop.getLowerBound()), get(loop.getUpperBound()),
                         get(loop.getStep()), getNumbers(builder, loc, loop.getInitArgs()));
  threadLoop->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  values.map(loop.getInductionVar(), threadLoop.getInductionVar());
  if (loop.getNumResults() == 0)
    threadLoop.getBody()->getTerminator()->erase();
  OpBuilder nested = OpBuilder::atBlockEnd(threadLoop.getBody());
  mapNumbers(nested, loc, loop.getRegionIterArgs(), threadLoop.getRegionIterArgs());
  emitBlock(nested, *loop.getBody());
  mapNumbers(builder, loc, loop.getResults(), threadLoop.getResults());
}

/// All threads of a block take the same branch.
void ThreadEmitter::emitBranches(OpBuilder &builder, scf::IfOp branch) {
  Location loc = branch.getLoc();
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes()) {
    auto vector = dyn_cast<VectorType>(getThreadType(type));
    types.append(vector ? vector.getNumElements() : 1, getElementTypeOrSelf(getThreadType(type)));
  }
  auto own = scf::IfOp::create(builder, loc, types, values.lookupOrDefault(branch.getCondition()),
                               /*withElseRegion=*/branch.elseBlock() != nullptr);
  for (auto [from, to] : llvm::zip_equal(branch->getRegions(), own->getRegions())) {
    if (from.empty())
      continue;
    if (to.front().mightHaveTerminator())
      to.front().getTerminator()->erase();
    OpBuilder nested = OpBuilder::atBlockEnd(&to.front());
    emitBlock(nested, from.front());
  }
  mapNumbers(builder, loc, branch.getResults(), own.getResults());
}
