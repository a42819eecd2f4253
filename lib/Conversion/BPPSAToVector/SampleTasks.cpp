//===- SampleTasks.cpp - samples per task ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SampleTasks.h"
#include "bppsa/Dialect/BPPSA/IR/TaskMapping.h"
#include "bppsa/Support/RuntimeCalls.h"

using namespace mlir;
using namespace bppsa;

int64_t bppsa::getMaxTaskSamples(Operation *loop) {
  auto mapping = dyn_cast_or_null<TaskMappingAttr>(attrs::Mapping::of(loop));
  return mapping ? mapping.getMost() : 1;
}

void bppsa::emitSampleTasks(OpBuilder &builder, Operation *loop, Value numSamples, int64_t most,
                            function_ref<void(OpBuilder &, Value, int64_t)> body) {
  Location loc = loop->getLoc();
  if (most == 1 || matchPattern(numSamples, m_One()))
    return emitParallel(builder, loc, numSamples,
                        [&](OpBuilder &nested, Value sample) { body(nested, sample, 1); });
  Value size = emitTaskSize(builder, loc, loop->getParentOfType<ModuleOp>(), numSamples, most);
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
