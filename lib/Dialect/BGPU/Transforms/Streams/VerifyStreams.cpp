//===- VerifyStreams.cpp - check stream synchronization -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BackwardLaunches.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <array>

namespace bppsa {
#define GEN_PASS_DEF_VERIFYSTREAMS
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// Simulates two streams. A stream has waited for a prefix of the other's launches; later ones may
/// run concurrently.
class StreamChecker {
public:
  explicit StreamChecker(LaunchAccesses &accesses) : launchAccesses(accesses) {}
  LogicalResult run(func::FuncOp function);

private:
  struct Launch {
    Operation *op;
    /// Nullopt if the arrays are unknown.
    std::optional<SmallVector<MemoryAccess>> accesses;
  };
  struct Stream {
    SmallVector<Launch, 0> launches;
    size_t waited = 0;
  };
  struct Event {
    int64_t stream;
    size_t count;
  };

  std::optional<SmallVector<MemoryAccess>> getAccesses(Operation *op);
  LogicalResult visit(Operation *op);
  LogicalResult waitFor(bgpu::WaitEventOp wait);
  LogicalResult launch(Operation *op, std::optional<SmallVector<MemoryAccess>> accesses);
  LogicalResult end(Operation *terminator);

  LaunchAccesses &launchAccesses;
  std::array<Stream, 2> streams;
  int64_t selected = 0;
  DenseMap<int64_t, Event> events;
};
} // namespace

/// Allocating and freeing count as writes in the order of the selected stream.
std::optional<SmallVector<MemoryAccess>> StreamChecker::getAccesses(Operation *op) {
  if (isa<memref::AllocOp>(op))
    return SmallVector<MemoryAccess>{{op->getResult(0), true}};
  if (isa<memref::DeallocOp>(op))
    return getArrayAccesses(op->getOperands(), [](unsigned) { return true; });
  return launchAccesses.get(op);
}

LogicalResult StreamChecker::waitFor(bgpu::WaitEventOp wait) {
  auto found = events.find(wait.getEvent());
  if (found == events.end())
    return wait.emitOpError()
           << "waits for event " << wait.getEvent()
           << ", which is not recorded before; insert a 'bgpu.record_event' before it";
  if (found->second.stream != selected)
    streams[selected].waited = std::max(streams[selected].waited, found->second.count);
  return success();
}

LogicalResult StreamChecker::launch(Operation *op,
                                    std::optional<SmallVector<MemoryAccess>> accesses) {
  Stream &other = streams[1 - selected];
  for (const Launch &earlier : ArrayRef(other.launches).drop_front(streams[selected].waited))
    if (!accesses || !earlier.accesses || conflict(*accesses, *earlier.accesses)) {
      InFlightDiagnostic error = op->emitOpError()
                                 << "uses memory on stream " << selected
                                 << " without waiting for stream " << 1 - selected
                                 << "; wait for an event that is recorded after its use";
      error.attachNote(earlier.op->getLoc()) << "of this operation";
      return error;
    }
  streams[selected].launches.push_back({op, std::move(accesses)});
  return success();
}

LogicalResult StreamChecker::visit(Operation *op) {
  if (auto select = dyn_cast<bgpu::SelectStreamOp>(op)) {
    selected = select.getStream();
    return success();
  }
  if (auto record = dyn_cast<bgpu::RecordEventOp>(op)) {
    events[record.getEvent()] = {selected, streams[selected].launches.size()};
    return success();
  }
  if (auto wait = dyn_cast<bgpu::WaitEventOp>(op))
    return waitFor(wait);
  std::optional<SmallVector<MemoryAccess>> accesses = getAccesses(op);
  return accesses && accesses->empty() ? success() : launch(op, std::move(accesses));
}

LogicalResult StreamChecker::end(Operation *terminator) {
  if (selected != 0)
    return terminator->emitOpError("ends a function on stream 1; select stream 0 before it");
  if (streams[0].waited < streams[1].launches.size())
    return terminator->emitOpError("ends a function before stream 0 has waited for stream 1; wait "
                                   "for an event that is recorded after its last launch");
  return success();
}

LogicalResult StreamChecker::run(func::FuncOp function) {
  for (Operation &op : function.front().without_terminator())
    if (failed(visit(&op)))
      return failure();
  return end(function.front().getTerminator());
}

namespace {
struct VerifyStreams : public bppsa::impl::VerifyStreamsBase<VerifyStreams> {
  void runOnOperation() override {
    LaunchAccesses accesses(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && llvm::hasSingleElement(function.getBody()) &&
          !function.getOps<bgpu::SelectStreamOp>().empty() &&
          failed(StreamChecker(accesses).run(function)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
