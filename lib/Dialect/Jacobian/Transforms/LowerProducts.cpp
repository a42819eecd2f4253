//===- LowerProducts.cpp - lower Jacobians to arrays ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "bppsa/Support/SampleLayout.h"

namespace bppsa {
#define GEN_PASS_DEF_LOWERPRODUCTS
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct MatrixArrays {
  /// `[N]`, or `[N, B]` if each sample has its own values.
  Value values;
  /// Null for a dense pattern.
  Value starts, columns;
  /// Null if entry e is element e of `values`.
  Value positions;
};

class ProductLowering {
public:
  explicit ProductLowering(func::FuncOp function) : builder(function.getContext()) {}

  void lower(jacobian::AssembleOp op);
  void lower(jacobian::ComposeOp op);
  void lower(jacobian::ApplyOp op);

private:
  Value createIndices(ArrayRef<int32_t> indices);
  void addIndices(jacobian::MatrixType type, MatrixArrays &arrays);
  /// Returns the cotangent transposed to `[N, B]`.
  Value getTransposedStructure(Value cotangent);
  Value multiplyElements(Value lhs, Value rhs);

  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  llvm::DenseMap<Value, MatrixArrays> matrices;
  llvm::DenseMap<Value, Value> sideBySide;
};
} // namespace

Value ProductLowering::createIndices(ArrayRef<int32_t> indices) {
  auto type = RankedTensorType::get(indices.size(), builder.getI32Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, indices));
}

void ProductLowering::addIndices(jacobian::MatrixType type, MatrixArrays &arrays) {
  SparsityPattern pattern = type.computePattern();
  if (pattern.isDense())
    return;
  std::vector<int32_t> starts, columns;
  columns.reserve(pattern.getNumEntries());
  for (int64_t row = 0; row < pattern.getNumRows(); ++row) {
    starts.push_back(columns.size());
    llvm::append_range(columns, pattern.getRow(row));
  }
  starts.push_back(columns.size());
  arrays.starts = createIndices(starts);
  arrays.columns = createIndices(columns);
}

void ProductLowering::lower(jacobian::AssembleOp op) {
  builder.setInsertionPoint(op);
  loc = op.getLoc();
  auto type = cast<jacobian::MatrixType>(op.getResult().getType());
  MatrixArrays arrays;
  if (type.getBatch()) {
    arrays.values = transposeSamples(builder, loc, op.getSource());
  } else {
    int64_t rank = cast<RankedTensorType>(op.getSource().getType()).getRank();
    SmallVector<ReassociationIndices> all = {llvm::to_vector(llvm::seq<int64_t>(0, rank))};
    arrays.values =
        rank == 1 ? op.getSource()
                  : tensor::CollapseShapeOp::create(builder, loc, op.getSource(), all).getResult();
  }
  addIndices(type, arrays);
  if (op.getPositions())
    arrays.positions = createIndices(*op.getPositions());
  matrices[op.getResult()] = arrays;
}

void ProductLowering::lower(jacobian::ComposeOp op) {
  builder.setInsertionPoint(op);
  loc = op.getLoc();
  auto type = cast<jacobian::MatrixType>(op.getType());
  const MatrixArrays first = matrices.at(op.getFirst()), second = matrices.at(op.getSecond());
  MatrixArrays result;
  addIndices(type, result);
  SmallVector<int64_t> shape = {type.computePattern().getNumEntries()};
  if (type.getBatch())
    shape.push_back(*type.getBatch());
  result.values =
      jacobian::SparseComposeOp::create(
          builder, loc, RankedTensorType::get(shape, type.getElementType()), first.values,
          first.starts, first.columns, first.positions, second.values, second.starts,
          second.columns, second.positions, result.starts, result.columns, Value(), type.getRows(),
          cast<jacobian::MatrixType>(op.getFirst().getType()).getRows(), type.getCols())
          .getResult();
  matrices[op.getResult()] = result;
}

Value ProductLowering::getTransposedStructure(Value cotangent) {
  Value &known = sideBySide[cotangent];
  if (!known)
    known = transposeSamples(builder, loc, cotangent);
  return known;
}

Value ProductLowering::multiplyElements(Value lhs, Value rhs) {
  auto type = cast<RankedTensorType>(rhs.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, tensor::getMixedSizes(builder, loc, rhs),
                                        type.getElementType());
  return linalg::MulOp::create(builder, loc, ValueRange{lhs, rhs}, ValueRange{empty}).getResult(0);
}

void ProductLowering::lower(jacobian::ApplyOp op) {
  builder.setInsertionPoint(op);
  loc = op.getLoc();
  auto type = cast<jacobian::MatrixType>(op.getJacobian().getType());
  const MatrixArrays matrix = matrices.at(op.getJacobian());
  Value cotangent = getTransposedStructure(op.getCotangent()), result;
  if (type.getStructure().is(jacobian::StructureKind::Diagonal) && type.getBatch() &&
      !matrix.positions) {
    result = multiplyElements(matrix.values, cotangent);
  } else {
    auto resultType = RankedTensorType::get({type.getRows(), op.getType().getDimSize(0)},
                                            op.getType().getElementType());
    result = jacobian::SparseApplyOp::create(builder, loc, resultType, matrix.values, matrix.starts,
                                             matrix.columns, matrix.positions, cotangent, Value())
                 .getResult();
  }
  Value back = transposeSamples(builder, loc, result);
  sideBySide[back] = result;
  op.getResult().replaceAllUsesWith(back);
}

static Operation *findUnknownJacobian(func::FuncOp function) {
  Operation *found = nullptr;
  function.walk([&](Operation *op) {
    bool isProduct = isa<jacobian::AssembleOp, jacobian::ComposeOp, jacobian::ApplyOp>(op);
    for (Value operand : op->getOperands()) {
      if (!isa<jacobian::MatrixType>(operand.getType()))
        continue;
      Operation *link = operand.getDefiningOp();
      if (!isProduct || !isa_and_nonnull<jacobian::AssembleOp, jacobian::ComposeOp>(link))
        found = found ? found : op;
    }
  });
  return found;
}

namespace {
struct LowerProductsPass : public bppsa::impl::LowerProductsBase<LowerProductsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (Operation *op = findUnknownJacobian(function)) {
      op->emitOpError("uses a jacobian that is neither assembled nor composed in this function; "
                      "create it there with jacobian.assemble or jacobian.compose");
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (isa<jacobian::AssembleOp, jacobian::ComposeOp, jacobian::ApplyOp>(op))
        ops.push_back(op);
    });
    ProductLowering lowering(function);
    for (Operation *op : ops) {
      if (auto assemble = dyn_cast<jacobian::AssembleOp>(op))
        lowering.lower(assemble);
      else if (auto compose = dyn_cast<jacobian::ComposeOp>(op))
        lowering.lower(compose);
      else
        lowering.lower(cast<jacobian::ApplyOp>(op));
    }
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }
};
} // namespace
