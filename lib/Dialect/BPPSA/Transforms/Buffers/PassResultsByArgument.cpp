//===- PassResultsByArgument.cpp - results in the caller's memory ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/ResultsByArgument.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace bppsa {
#define GEN_PASS_DEF_PASSRESULTSBYARGUMENT
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::passResultsByArgument(func::FuncOp function) {
  if (function.isExternal() || function.getNumResults() == 0)
    return success();
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("must have one block to be bufferized");
  auto back = cast<func::ReturnOp>(function.front().getTerminator());
  SmallVector<Type> memories;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locations;
  for (auto [i, value] : llvm::enumerate(back.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return function.emitOpError() << "must return ranked tensors, found " << value.getType();
    memories.push_back(MemRefType::get(type.getShape(), type.getElementType()));
    attributes.push_back(function.getResultAttrDict(i));
    locations.push_back(value.getLoc());
  }
  unsigned first = function.getNumArguments();
  if (failed(function.insertArguments(SmallVector<unsigned>(memories.size(), first), memories,
                                      attributes, locations)))
    return failure();
  OpBuilder builder(back);
  for (auto [value, memory] :
       llvm::zip_equal(back.getOperands(), function.getArguments().drop_front(first)))
    bufferization::MaterializeInDestinationOp::create(builder, back.getLoc(), Type(), value, memory,
                                                      /*restrict=*/true, /*writable=*/true);
  back->setOperands({});
  return function.eraseResults(llvm::BitVector(function.getNumResults(), true));
}

namespace {
struct PassResultsByArgument
    : public bppsa::impl::PassResultsByArgumentBase<PassResultsByArgument> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(passResultsByArgument(function)))
        return signalPassFailure();
  }
};
} // namespace
