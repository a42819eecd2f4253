//===- StreamsToRuntime.cpp - streams to run-time calls -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTSTREAMSTORUNTIME
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static void replaceByCall(Operation *op, StringRef name, IntegerAttr number) {
  OpBuilder builder(op);
  Value argument = arith::ConstantOp::create(builder, op->getLoc(), number);
  emitRuntimeCall(builder, op->getLoc(), op->getParentOfType<ModuleOp>(), name, argument);
  op->erase();
}

namespace {
struct ConvertStreamsToRuntime
    : public bppsa::impl::ConvertStreamsToRuntimeBase<ConvertStreamsToRuntime> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<bgpu::SelectStreamOp, bgpu::RecordEventOp, bgpu::WaitEventOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto select = dyn_cast<bgpu::SelectStreamOp>(op))
        replaceByCall(op, "bppsa_rt_select_stream", select.getStreamAttr());
      else if (auto record = dyn_cast<bgpu::RecordEventOp>(op))
        replaceByCall(op, "bppsa_rt_record_event", record.getEventAttr());
      else
        replaceByCall(op, "bppsa_rt_wait_event", cast<bgpu::WaitEventOp>(op).getEventAttr());
    }
  }
};
} // namespace
