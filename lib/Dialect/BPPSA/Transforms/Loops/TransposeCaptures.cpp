//===- TransposeCaptures.cpp - transposes captured matrices ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// If lanes hold hidden units, `m x` adds `x[k]` times column k. Matrices are transposed once before
// the loop to make columns contiguous.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {
#define GEN_PASS_DEF_TRANSPOSECAPTURES
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static Value transpose(OpBuilder &builder, Location loc, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  Value empty = tensor::EmptyOp::create(builder, loc,
                                        ArrayRef<int64_t>{type.getDimSize(1), type.getDimSize(0)},
                                        type.getElementType());
  return linalg::TransposeOp::create(builder, loc, matrix, empty, ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

template <typename LoopOp> static void transposeCaptures(LoopOp loop) {
  Block &body = loop.getBody().front();
  unsigned numCaptures = loop.getCaptures().size();
  unsigned first = body.getNumArguments() - numCaptures;
  OpBuilder builder(loop);
  SmallVector<Value> transposed(numCaptures);
  for (MatVecOp product : body.getOps<MatVecOp>()) {
    auto matrix = dyn_cast<BlockArgument>(product.getMatrix());
    if (product.getTransposed() || !matrix || matrix.getArgNumber() < first ||
        matrix.getArgNumber() >= first + numCaptures)
      continue;
    Value &argument = transposed[matrix.getArgNumber() - first];
    if (!argument) {
      Value capture = loop.getCaptures()[matrix.getArgNumber() - first];
      Value other = transpose(builder, loop.getLoc(), capture);
      loop.getCapturesMutable().append(other);
      auto type = cast<RankedTensorType>(other.getType());
      argument =
          body.addArgument(VectorType::get(type.getShape(), type.getElementType()), loop.getLoc());
    }
    product.getMatrixMutable().assign(argument);
    product.setTransposed(true);
  }
  for (unsigned i = numCaptures; i-- > 0;) {
    if (!transposed[i] || !body.getArgument(first + i).use_empty())
      continue;
    body.eraseArgument(first + i);
    loop.getCapturesMutable().erase(i);
  }
}

namespace {
struct TransposeCaptures : public bppsa::impl::TransposeCapturesBase<TransposeCaptures> {
  void runOnOperation() override {
    getOperation().walk([](RecurrenceOp loop) {
      if (loop.getLanes() == 1)
        transposeCaptures(loop);
    });
    getOperation().walk([](ChainOp loop) {
      if (loop.getLanes() == 1)
        transposeCaptures(loop);
    });
    getOperation().walk([](TransitionOp run) {
      if (run.getLanes() == 1)
        transposeCaptures(run);
    });
  }
};
} // namespace
