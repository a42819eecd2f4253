//===- Objective.cpp - the differentiated objective -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Objective.h"
#include "../TensorBuilders.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace bppsa;

bool bppsa::hasLoss(func::FuncOp function) {
  if (!function.getBody().hasOneBlock() || function.getNumResults() == 0)
    return false;
  return function.getResultTypes()[0] ==
         RankedTensorType::get({}, Float32Type::get(function.getContext()));
}

void bppsa::appendResult(func::FuncOp function, Value value, NamedAttribute attribute) {
  Operation *terminator = function.front().getTerminator();
  SmallVector<DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  Builder builder(function.getContext());
  attributes.push_back(builder.getDictionaryAttr(attribute));
  terminator->insertOperands(terminator->getNumOperands(), value);
  function.setType(
      builder.getFunctionType(function.getArgumentTypes(), terminator->getOperandTypes()));
  function.setAllResultAttrs(attributes);
}

void bppsa::appendObjective(func::FuncOp function, Value objective) {
  appendResult(function, objective, attrs::Objective::make(function.getContext()));
}

Value bppsa::createRankWeighted(OpBuilder &builder, Location loc, Value loss) {
  Value weight = dist::RankWeightOp::create(builder, loc, builder.getF32Type());
  Value empty = createEmptyLike(builder, loc, loss);
  SmallVector<AffineMap> maps(2, AffineMap::get(builder.getContext()));
  auto product = linalg::GenericOp::create(
      builder, loc, TypeRange(empty.getType()), ValueRange(loss), ValueRange(empty), maps,
      ArrayRef<utils::IteratorType>(), [&](OpBuilder &body, Location, ValueRange arguments) {
        Value scaled = arith::MulFOp::create(body, loc, arguments[0], weight);
        linalg::YieldOp::create(body, loc, scaled);
      });
  return product.getResult(0);
}
