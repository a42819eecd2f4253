//===- PhaseCalls.cpp - phase marks to run-time calls ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "PhaseCalls.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Support/RuntimeCalls.h"

using namespace mlir;
using namespace bppsa;

void bppsa::lowerPhaseMarks(ModuleOp module) {
  SmallVector<MarkPhaseOp> marks;
  module.walk([&](MarkPhaseOp op) { marks.push_back(op); });
  for (MarkPhaseOp op : marks) {
    OpBuilder builder(op);
    Value phase = arith::ConstantOp::create(builder, op.getLoc(), op.getPhaseAttr());
    emitRuntimeCall(builder, op.getLoc(), module, "bppsa_rt_phase", phase);
    op.erase();
  }
}
