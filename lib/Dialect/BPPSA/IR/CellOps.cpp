//===- CellOps.cpp - properties of operations in cells --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

int64_t bppsa::getRowInstructions(CellWork work) {
  switch (work) {
  case CellWork::Simple:
    return 1;
  case CellWork::Division:
    return 10;
  case CellWork::Special:
    return 25;
  default:
    return 0;
  }
}

bool bppsa::isRowWise(Operation *op) {
  auto cell = cast<CellOpInterface>(op);
  return llvm::all_of(llvm::seq(op->getNumOperands()), [&](unsigned operand) {
    return cell.getRowAccess(operand) == RowAccess::Same;
  });
}

int64_t bppsa::countFlops(Operation *op) {
  auto countElements = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped ? shaped.getNumElements() : 1;
  };
  auto cell = cast<CellOpInterface>(op);
  if (cell.getWork() == CellWork::Move)
    return 0;
  int64_t flops = 0;
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (cell.getRowAccess(number) == RowAccess::Matrix)
      flops += 2 * countElements(operand.getType());
  return cell.getWork() == CellWork::Product ? flops : countElements(op->getResult(0).getType());
}

Value bppsa::cloneForRow(OpBuilder &builder, Operation *op, Type type, const RowReader &rows) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isa<VectorType>(operand.getType()))
      mapping.map(operand, rows.same(operand));
  Operation *rowOp = op->clone(mapping);
  rowOp->getResult(0).setType(type);
  return builder.insert(rowOp)->getResult(0);
}

//===----------------------------------------------------------------------===//
// Operations of the bppsa dialect
//===----------------------------------------------------------------------===//

CellWork MatVecOp::getWork() { return CellWork::Product; }

RowAccess MatVecOp::getRowAccess(unsigned operand) {
  if (operand == 0)
    return RowAccess::Matrix;
  return operand == 1 ? RowAccess::All : RowAccess::Same;
}

CellWork SigmoidOp::getWork() { return CellWork::Special; }

std::optional<double> SigmoidOp::evaluate(ArrayRef<double> operands) {
  return 1.0 / (1.0 + std::exp(-operands[0]));
}

CellWork StopGradientOp::getWork() { return CellWork::Move; }

CellSlope StopGradientOp::getSlope(unsigned) { return CellSlope::Zero; }
