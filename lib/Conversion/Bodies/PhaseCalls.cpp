//===- PhaseCalls.cpp - phases of a step as calls of the run time ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "PhaseCalls.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace bppsa;

/// Declares the run-time function of `bppsa.mark_phase`.
static func::FuncOp getPhaseFunction(ModuleOp module) {
  constexpr StringLiteral name = "bppsa_rt_phase";
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    return function;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto function = func::FuncOp::create(builder, module.getLoc(), name,
                                       builder.getFunctionType({builder.getI64Type()}, {}));
  function.setPrivate();
  return function;
}

void bppsa::lowerPhaseMarks(ModuleOp module) {
  SmallVector<MarkPhaseOp> marks;
  module.walk([&](MarkPhaseOp op) { marks.push_back(op); });
  for (MarkPhaseOp op : marks) {
    OpBuilder builder(op);
    Value phase = arith::ConstantOp::create(builder, op.getLoc(), op.getPhaseAttr());
    func::CallOp::create(builder, op.getLoc(), getPhaseFunction(module), phase);
    op.erase();
  }
}
