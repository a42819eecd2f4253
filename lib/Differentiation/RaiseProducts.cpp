//===- RaiseProducts.cpp - raise products over time to loops --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TensorBuilders.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Differentiation/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bppsa {
#define GEN_PASS_DEF_RAISEPRODUCTS
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// `result[i, j, m] = sum over k of sequence[i, j, k] * matrix[m, k]` (or `matrix[k, m]`), plus
/// `bias[m]`.
struct Product {
  Value sequence, matrix, bias;
  bool transposed;
  linalg::GenericOp root;
};
} // namespace

static SmallVector<unsigned> getDims(AffineMap map) {
  return llvm::map_to_vector(
      map.getResults(), [](AffineExpr expr) { return cast<AffineDimExpr>(expr).getPosition(); });
}

static bool isFloatTensor(Value value, int64_t rank) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == rank && type.getElementType().isF32();
}

static void matchBias(Product &product) {
  if (!product.root->hasOneUse())
    return;
  auto user = dyn_cast<linalg::GenericOp>(*product.root->user_begin());
  if (!user || user.getInputs().size() != 2 || user.getNumParallelLoops() != 3 ||
      user.getNumLoops() != 3 || user.getBody()->getOperations().size() != 2 ||
      !user.getMatchingIndexingMap(user.getDpsInitOperand(0)).isIdentity())
    return;
  auto add = user.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  unsigned number = user.getInputs()[0] == product.root.getResult(0) ? 1 : 0;
  Value bias = user.getInputs()[number];
  AffineMap map = user.getIndexingMapsArray()[number];
  if (!add || add.getLhs() == add.getRhs() || !isFloatTensor(bias, 1) ||
      !map.isProjectedPermutation() || getDims(map) != SmallVector<unsigned>{2} ||
      !user.getIndexingMapsArray()[1 - number].isIdentity() ||
      llvm::is_contained(add.getOperands(), user.getBody()->getArguments().back()))
    return;
  product.bias = bias;
  product.root = user;
}

static std::optional<Product> matchProduct(linalg::GenericOp op) {
  if (op.getInputs().size() != 2 || op.getNumResults() != 1 || op.getNumParallelLoops() != 3 ||
      op.getNumReductionLoops() != 1 || !isZeros(op.getOutputs()[0]) ||
      !linalg::isaContractionOpInterface(op))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned first = isFloatTensor(op.getInputs()[0], 3) ? 0 : 1;
  Product product{op.getInputs()[first], op.getInputs()[1 - first], Value(), false, op};
  SmallVector<unsigned> sequence = getDims(maps[first]), matrix = getDims(maps[1 - first]);
  if (!isFloatTensor(product.sequence, 3) || !isFloatTensor(product.matrix, 2) ||
      !cast<RankedTensorType>(product.matrix.getType()).hasStaticShape() ||
      getDims(maps[2]) != SmallVector<unsigned>{0, 1, 2} ||
      sequence != SmallVector<unsigned>{0, 1, 3})
    return std::nullopt;
  product.transposed = matrix == SmallVector<unsigned>{3, 2};
  if (!product.transposed && matrix != SmallVector<unsigned>{2, 3})
    return std::nullopt;
  matchBias(product);
  return product;
}

static void buildBody(OpBuilder &builder, Location loc, const Product &product, RecurrenceOp loop) {
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&loop.getBody());
  auto add = [&](Value tensor, ArrayRef<int64_t> shape) -> Value {
    return body->addArgument(VectorType::get(shape, getElementTypeOrSelf(tensor.getType())), loc);
  };
  ArrayRef<int64_t> matrixShape = cast<RankedTensorType>(product.matrix.getType()).getShape();
  int64_t columns = matrixShape[product.transposed ? 0 : 1];
  int64_t rows = matrixShape[product.transposed ? 1 : 0];
  Value row = add(product.sequence, {columns});
  Value matrix = add(product.matrix, matrixShape);
  Value bias = product.bias ? add(product.bias, {rows}) : Value();
  Value result = MatVecOp::create(builder, loc, VectorType::get(rows, builder.getF32Type()), matrix,
                                  row, bias, product.transposed);
  YieldOp::create(builder, loc, result);
}

namespace {
struct RaiseProduct : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    std::optional<Product> product = matchProduct(op);
    if (!product)
      return failure();
    Location loc = op.getLoc();
    rewriter.setInsertionPoint(product->root);
    SmallVector<Value> captures = {product->matrix};
    if (product->bias)
      captures.push_back(product->bias);
    auto loop = RecurrenceOp::create(rewriter, loc, TypeRange(), product->root->getResultTypes(),
                                     product->sequence, ValueRange(), captures);
    buildBody(rewriter, loc, *product, loop);
    rewriter.replaceOp(product->root, loop.getOutputs());
    return success();
  }
};

struct RaiseProductsPass : bppsa::impl::RaiseProductsBase<RaiseProductsPass> {
  void runOnOperation() override {
    // The greedy driver would also simplify functions without products, which is the
    // canonicalizer's task.
    auto isProduct = [](linalg::GenericOp op) {
      return matchProduct(op) ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (!getOperation()->walk(isProduct).wasInterrupted())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseProduct>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
