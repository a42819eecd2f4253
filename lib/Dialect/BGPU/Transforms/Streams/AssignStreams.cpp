//===- AssignStreams.cpp - move parameter gradients to a sub stream -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StreamAssignment.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "bppsa/Dialect/BGPU/Transforms/Streams/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static constexpr int64_t kMainStream = 0, kSubStream = 1;

namespace {
/// Consecutive parameter-gradient launches on the sub stream.
struct Section {
  SmallVector<MemoryAccess> accesses;
  bgpu::SelectStreamOp end;
  /// Event recorded after the section, and the first operation that waits for it, if any.
  std::optional<int64_t> event;
  Operation *waited = nullptr;
};

class StreamAssigner {
public:
  StreamAssigner(MarkPhaseOp start, const StreamAssignment &plan, LaunchAccesses &accesses)
      : start(start), plan(plan), launchAccesses(accesses) {}
  void run();

private:
  void placeSection(unsigned region, Operation *place);
  void moveProducers(Operation *op, bgpu::RecordEventOp record);
  void joinSections(size_t count, Operation *user);
  void placeJoins();
  void moveDeallocations();

  MarkPhaseOp start;
  const StreamAssignment &plan;
  LaunchAccesses &launchAccesses;
  SmallVector<Section, 0> sections;
  int64_t numEvents = 0;
};
} // namespace

void StreamAssigner::moveProducers(Operation *op, bgpu::RecordEventOp record) {
  for (Value value : getUsedValues(op)) {
    Operation *made = value.getDefiningOp();
    if (!made || made->getBlock() != record->getBlock() || made->isBeforeInBlock(record))
      continue;
    moveProducers(made, record);
    made->moveBefore(record);
  }
}

/// The sub stream waits for earlier main-stream launches, which may still use memory allocated for
/// the section.
void StreamAssigner::placeSection(unsigned region, Operation *place) {
  SmallVector<unsigned> numbers;
  for (const WeightGroup &group : plan.getGroups())
    if (group.region == region)
      llvm::append_range(numbers, group.launches);
  if (numbers.empty())
    return;
  llvm::sort(numbers);
  OpBuilder builder(start->getContext());
  builder.setInsertionPointAfter(place);
  Location loc = place->getLoc();
  auto record = bgpu::RecordEventOp::create(builder, loc, numEvents);
  bgpu::SelectStreamOp::create(builder, loc, kSubStream);
  bgpu::WaitEventOp::create(builder, loc, numEvents++);
  Section &section = sections.emplace_back();
  section.end = bgpu::SelectStreamOp::create(builder, loc, kMainStream);
  for (unsigned number : numbers) {
    const BackwardLaunch &launch = plan.getLaunches()[number];
    moveProducers(launch.op, record);
    launch.op->moveBefore(section.end);
    llvm::append_range(section.accesses, launch.accesses);
  }
}

void StreamAssigner::joinSections(size_t count, Operation *user) {
  Section &last = sections[count - 1];
  if (last.waited)
    return;
  OpBuilder builder(last.end);
  last.event = numEvents++;
  bgpu::RecordEventOp::create(builder, last.end.getLoc(), *last.event);
  builder.setInsertionPoint(user);
  auto wait = bgpu::WaitEventOp::create(builder, user->getLoc(), *last.event);
  for (Section &section : llvm::MutableArrayRef(sections).take_front(count))
    if (!section.waited)
      section.waited = wait;
}

void StreamAssigner::placeJoins() {
  size_t given = 0;
  bool isSub = false;
  for (Operation *op = start; op; op = op->getNextNode()) {
    if (auto select = dyn_cast<bgpu::SelectStreamOp>(op)) {
      isSub = select.getStream() == kSubStream;
      given += isSub;
      continue;
    }
    if (isSub)
      continue;
    std::optional<SmallVector<MemoryAccess>> accesses = launchAccesses.get(op);
    for (size_t count = given; count > 0; --count)
      if (!accesses || conflict(*accesses, sections[count - 1].accesses)) {
        joinSections(count, op);
        break;
      }
  }
  joinSections(sections.size(), start->getBlock()->getTerminator());
}

/// Frees arrays used by sections only after the main stream waited for the sections.
void StreamAssigner::moveDeallocations() {
  DenseMap<Value, Operation *> waits;
  for (const Section &section : sections)
    for (const MemoryAccess &access : section.accesses)
      waits[access.array] = section.waited;
  for (auto dealloc : llvm::to_vector(start->getBlock()->getOps<memref::DeallocOp>()))
    if (Operation *wait = waits.lookup(dealloc.getMemref()); wait && dealloc->isBeforeInBlock(wait))
      dealloc->moveAfter(wait);
}

void StreamAssigner::run() {
  OpBuilder builder(start->getContext());
  builder.setInsertionPointAfter(start);
  auto first = bgpu::SelectStreamOp::create(builder, start.getLoc(), kMainStream);
  for (auto [number, region] : llvm::enumerate(plan.getRegions()))
    placeSection(number, region.before == start ? first : region.before);
  placeJoins();
  moveDeallocations();
}

static StringRef getCalleeName(Operation *op) { return cast<func::CallOp>(op).getCallee(); }

static remark::RemarkOpts getRemarkOptions(func::FuncOp function) {
  return remark::RemarkOpts::name("AssignStreams")
      .category("schedule")
      .function(function.getName());
}

static void emitRemarks(func::FuncOp function, const StreamAssignment &plan) {
  size_t numWeights = 0;
  for (const WeightGroup &group : plan.getGroups()) {
    numWeights += group.launches.size();
    if (group.region == group.earliest)
      continue;
    StringRef name = getCalleeName(plan.getLaunches()[group.launches.back()].op);
    remark::passed(function.getLoc(), getRemarkOptions(function)) << remark::add(
        "{0} runs in region {1} in place of {2}, which hides {3:F2} of its {4:F2} us "
        "by the cost model",
        name, group.region + 1, group.earliest + 1, group.hidden, group.cost.alone);
  }
  remark::passed(function.getLoc(), getRemarkOptions(function)) << remark::add(
      "{0} of {1} launches of the backward pass on the sub stream, in {2} groups and "
      "{3} regions",
      numWeights, plan.getLaunches().size(), plan.getGroups().size(), plan.getRegions().size());
}

namespace {
struct AssignStreams : public bppsa::impl::AssignStreamsBase<AssignStreams> {
  using AssignStreamsBase::AssignStreamsBase;

  void runOnOperation() override {
    if (size < 1) {
      getOperation().emitError() << "bppsa-assign-streams: 'size' must be at least 1, found "
                                 << size.getValue();
      return signalPassFailure();
    }
    LaunchAccesses accesses(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (MarkPhaseOp start = findBackwardStart(function))
        assign(function, start, accesses);
  }

private:
  void assign(func::FuncOp function, MarkPhaseOp start, LaunchAccesses &accesses) {
    Operation *unknown = nullptr;
    FailureOr<SmallVector<BackwardLaunch, 0>> launches =
        findBackwardLaunches(start, accesses, unknown);
    if (failed(launches)) {
      remark::missed(unknown->getLoc(), getRemarkOptions(function)) << remark::add(
          "one stream: the arrays that {0} uses are not known", unknown->getName().getStringRef());
      return;
    }
    StreamAssignment plan(*launches, start);
    plan.chooseOwnRegions();
    if (joint)
      plan.chooseJointly(
          [&](Operation *op) { return getLaunchCost(op, accesses.getKernel(op), size); });
    if (!plan.getGroups().empty())
      StreamAssigner(start, plan, accesses).run();
    emitRemarks(function, plan);
  }
};
} // namespace
