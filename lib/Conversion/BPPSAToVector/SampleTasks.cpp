//===- SampleTasks.cpp - samples that one thread takes together -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SampleTasks.h"
#include "bppsa/Dialect/BPPSA/IR/TaskMapping.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace bppsa;

/// The entry point of the run time, ObjectInterface.h.
static constexpr StringLiteral kTaskSamples = "bppsa_rt_task_samples";

int64_t bppsa::getMostTaskSamples(Operation *loop) {
  auto mapping = dyn_cast_or_null<TaskMappingAttr>(attrs::Mapping::of(loop));
  return mapping ? mapping.getMost() : 1;
}

/// The answer of the run time for tasks of `least` to `most` of `numSamples` samples.
static Value askTaskSamples(OpBuilder &builder, Operation *loop, Value numSamples, int64_t least,
                            int64_t most) {
  Location loc = loop->getLoc();
  Type index = builder.getIndexType();
  auto module = loop->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(kTaskSamples);
  if (!function) {
    OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
    function = func::FuncOp::create(atStart, module.getLoc(), kTaskSamples,
                                    builder.getFunctionType({index, index, index}, index));
    function.setPrivate();
  }
  return func::CallOp::create(
             builder, loc, function,
             ValueRange{numSamples, getIndex(builder, loc, least), getIndex(builder, loc, most)})
      .getResult(0);
}

void bppsa::emitSampleTasks(OpBuilder &builder, Operation *loop, Value numSamples, int64_t most,
                            function_ref<void(OpBuilder &, Value, int64_t)> body) {
  Location loc = loop->getLoc();
  if (most == 1 || matchPattern(numSamples, m_One()))
    return emitParallel(builder, loc, numSamples,
                        [&](OpBuilder &nested, Value sample) { body(nested, sample, 1); });
  Value size = askTaskSamples(builder, loop, numSamples, /*least=*/1, most);
  Value numTasks = arith::CeilDivUIOp::create(builder, loc, numSamples, size);
  emitParallel(builder, loc, numTasks, [&](OpBuilder &nested, Value task) {
    Value next = arith::MulIOp::create(nested, loc, task, size);
    Value last = arith::MinUIOp::create(nested, loc, arith::AddIOp::create(nested, loc, next, size),
                                        numSamples);
    for (int64_t count = most; count >= 1; count /= 2) {
      Value together = getIndex(nested, loc, count);
      Value left = arith::SubIOp::create(nested, loc, last, next);
      Value rest = arith::RemUIOp::create(nested, loc, left, together);
      Value end = arith::SubIOp::create(nested, loc, last, rest);
      emitFor(nested, loc, next, end, count,
              [&](OpBuilder &inside, Value first) { body(inside, first, count); });
      next = end;
    }
  });
}
