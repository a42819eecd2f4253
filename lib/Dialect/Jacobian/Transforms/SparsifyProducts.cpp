//===- SparsifyProducts.cpp - sparse products of pruned layers ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/IR/ProductMapping.h"
#include "bppsa/Dialect/Jacobian/Analysis/LayerChains.h"
#include "bppsa/Dialect/Jacobian/Analysis/LinkValues.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "bppsa/Support/SampleLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace bppsa {
#define GEN_PASS_DEF_SPARSIFYPRODUCTS
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// Rows are result elements, columns are elements of `operand`.
struct SparseProduct {
  linalg::GenericOp op;
  Value operand, weights;
  SparsityPattern pattern;
  /// Index in `weights` of each entry, row by row.
  std::vector<int32_t> positions;
};
} // namespace

static bool hasPrunedArguments(func::FuncOp function) {
  return llvm::any_of(function.getArguments(), [](Value value) { return getNonzeros(value); });
}

/// `values` are in the entry order of the transpose.
static std::vector<int32_t> transposeEntries(const SparsityPattern &transposed,
                                             const SparsityPattern &pattern,
                                             ArrayRef<int32_t> values) {
  std::vector<int64_t> next;
  for (int64_t row = 0; row < pattern.getNumRows(); ++row)
    next.push_back(pattern.getRowStart(row));
  std::vector<int32_t> found(values.size());
  int64_t entry = 0;
  for (int64_t row = 0; row < transposed.getNumRows(); ++row)
    for (int32_t col : transposed.getRow(row))
      found[next[col]++] = values[entry++];
  return found;
}

static bool isZero(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  Value element = fill ? fill.getInputs().front() : value;
  return matchPattern(element, m_AnyZeroFloat());
}

/// The matrix cannot represent constants other than zero.
static bool fillsWithZeros(Operation *op, Value operand) {
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    Value padding = pad.getConstantPaddingValue();
    return padding && matchPattern(padding, m_AnyZeroFloat());
  }
  if (auto insertion = dyn_cast<tensor::InsertSliceOp>(op))
    return insertion.getSource() == operand && isZero(insertion.getDest());
  return isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::CastOp>(op);
}

static std::optional<SparseProduct> findProduct(linalg::GenericOp op, const SampleAxes &axes) {
  if (!op.hasPureTensorSemantics() || !addsProducts(op) ||
      llvm::none_of(op.getDpsInputs(), [](Value input) { return getNonzeros(input); }))
    return std::nullopt;
  auto result = cast<OpResult>(op.getResult(0));
  std::optional<LayerLink> link = findLayerLink(result, axes);
  if (!link || !llvm::all_of(link->absorbed, [](const Layer &layer) {
        return fillsWithZeros(layer.op, layer.operand);
      }))
    return std::nullopt;
  std::string why;
  std::optional<LinkValues> values =
      findLinkValues(result, link->layer.operand, link->layer.type, axes, why);
  if (!values || values->kind != LinkValues::Kind::Shared || !getNonzeros(values->factor))
    return std::nullopt;
  if (!link->rows.empty())
    values = values->selectRows(link->layer.type.computePattern(), link->rows);
  SparsityPattern transposed = link->type.computePattern();
  SparseProduct product = {op, link->operand, values->factor, transposed.transpose(), {}};
  product.positions = transposeEntries(transposed, product.pattern, values->sources);
  return product;
}

/// Counts per sample. Only the sample dimension may be dynamic.
static int64_t countMultiplyAdds(linalg::GenericOp op) {
  int64_t count = 1;
  for (int64_t extent : op.getStaticLoopRanges())
    if (ShapedType::isStatic(extent))
      count *= extent;
  return count;
}

static void replace(const SparseProduct &product) {
  linalg::GenericOp op = product.op;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto resultType = cast<RankedTensorType>(op.getResult(0).getType());
  auto type = jacobian::MatrixType::get(
      op.getContext(), product.pattern.getNumRows(), product.pattern.getNumCols(),
      resultType.getElementType(),
      jacobian::StructureAttr::fromPattern(op.getContext(), product.pattern), std::nullopt);
  Value matrix = jacobian::AssembleOp::create(builder, loc, type, product.weights,
                                              builder.getDenseI32ArrayAttr(product.positions));
  Value operand = flattenSamples(builder, product.operand);
  auto flatType = RankedTensorType::get({resultType.getDimSize(0), product.pattern.getNumRows()},
                                        resultType.getElementType());
  Value flat = jacobian::ApplyOp::create(builder, loc, flatType, matrix, operand);
  Value result = unflattenSamples(builder, flat, resultType), bias = op.getDpsInits()[0];
  if (!isZero(bias)) {
    Value empty = tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, bias),
                                          resultType.getElementType());
    result = linalg::AddOp::create(builder, loc, ValueRange{result, bias}, ValueRange{empty})
                 .getResult(0);
  }
  op.getResult(0).replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct SparsifyProductsPass : public bppsa::impl::SparsifyProductsBase<SparsifyProductsPass> {
  using SparsifyProductsBase::SparsifyProductsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !hasPrunedArguments(function))
      return;
    SampleAxes axes = findSampleAxes(function, /*batchAxis=*/0);
    SmallVector<SparseProduct, 0> products;
    function.walk([&](linalg::GenericOp op) {
      std::optional<SparseProduct> product = findProduct(op, axes);
      if (product && isWanted(*product))
        products.push_back(std::move(*product));
    });
    function.walk([](Operation *op) { attrs::OperandJacobians::remove(op); });
    for (const SparseProduct &product : products)
      replace(product);
    numSparse += products.size();
  }

private:
  /// True if the zeros save enough multiply-adds. Emits a remark.
  bool isWanted(const SparseProduct &product) {
    auto options = remark::RemarkOpts::name("SparsifyProducts")
                       .category("products")
                       .function(getOperation().getName());
    int64_t left = product.pattern.getNumEntries(), all = countMultiplyAdds(product.op);
    bool isWanted = left <= maxShare * all;
    std::string text = llvm::formatv("{0} of {1} multiply-adds are left without pruned weights: "
                                     "they are computed {2}",
                                     left, all, isWanted ? "alone" : "with the others");
    Location loc = product.op->getLoc();
    if (isWanted)
      remark::passed(loc, options) << text;
    else
      remark::missed(loc, options) << text;
    return isWanted;
  }
};
} // namespace
