//===- StreamJoins.cpp - joins of the GPU sub stream ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StreamJoins.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"

using namespace mlir;
using namespace bppsa;

StreamJoins::StreamJoins(Block &block) {
  bool isSub = false;
  // Sub-stream operations so far, the number that the main stream has waited for, and the number
  // before each event.
  SmallVector<Operation *> given;
  size_t joined = 0;
  DenseMap<int64_t, size_t> events;
  for (Operation &op : block) {
    if (auto select = dyn_cast<bgpu::SelectStreamOp>(op)) {
      isSub = select.getStream() == 1;
    } else if (auto record = dyn_cast<bgpu::RecordEventOp>(op)) {
      events[record.getEvent()] = isSub ? given.size() : 0;
    } else if (auto wait = dyn_cast<bgpu::WaitEventOp>(op)) {
      size_t count = isSub ? 0 : events.lookup(wait.getEvent());
      for (; joined < count; ++joined)
        joins[given[joined]] = wait;
    } else if (isSub) {
      given.push_back(&op);
    }
  }
  for (Operation *op : ArrayRef(given).drop_front(joined))
    joins[op] = block.getTerminator();
}
