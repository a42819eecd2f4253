//===- ExpandScan.cpp - expands scan plans --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Expands scan plans to loops in the order of ScanOrder.h or to straight-line code on explicit
// Jacobians.
//
//===----------------------------------------------------------------------===//

#include "ScanLoops.h"
#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace bppsa {
#define GEN_PASS_DEF_EXPANDSCAN
#include "bppsa/Dialect/BPPSA/Transforms/Scan/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

void bppsa::cloneLinkInto(ChainOp chain, Region &region, LinkValues values) {
  IRMapping mapping;
  chain.getBody().cloneInto(&region, mapping);
  Block &body = region.front();
  unsigned numStates = chain.getSeeds().size();
  if (values == LinkValues::States)
    return yieldOnly(body, 0, numStates);
  yieldOnly(body, numStates, body.getTerminator()->getNumOperands() - numStates);
}

/// Returns null if `array` is not packed.
static IntegerAttr getLanesOf(const ChainArrays &arrays, Value array) {
  if (!arrays.isPacked())
    return {};
  int64_t lanes = cast<RankedTensorType>(array.getType()).getShape().back();
  return arrays.builder.getI64IntegerAttr(lanes);
}

Value bppsa::createTransition(const ChainArrays &arrays, ValueRange saved, ValueRange injected,
                              Value into, bool byRows) {
  ChainOp chain = arrays.chain;
  auto op =
      TransitionOp::create(arrays.builder, arrays.loc, into.getType(), saved, injected,
                           chain.getCaptures(), into, chain.getInjectInto(), arrays.stateSizes,
                           arrays.isDiagonal, byRows, chain.getReverse(), getLanesOf(arrays, into));
  cloneLinkInto(chain, op.getBody(), LinkValues::States);
  return op.getResult();
}

ChainOp bppsa::createRun(const ChainArrays &arrays, const ChainRun &run) {
  ChainOp chain = arrays.chain;
  size_t numStates = chain.getSeeds().size();
  bool hasSums = !chain.getSums().empty();
  TypeRange types = ValueRange(run.into);
  ChainOptions options;
  options.reverse = chain.getReverse();
  options.writeTo(run.into, getLanesOf(arrays, run.into.front()));
  options.factors.assign(run.factors.begin(), run.factors.end());
  options.sumWith.assign(chain.getSumWith().begin(), chain.getSumWith().end());
  options.flatSums = hasSums;
  TypeRange sums = types.take_back(hasSums ? 1 : 0);
  options.sums.assign(sums.begin(), sums.end());
  auto made =
      ChainOp::create(arrays.builder, arrays.loc, types.take_front(numStates),
                      types.drop_front(numStates).drop_back(sums.size()), run.saved, run.seeds,
                      run.injected, chain.getInjectInto(), chain.getCaptures(), options);
  IRMapping mapping;
  chain.getBody().cloneInto(&made.getBody(), mapping);
  return made;
}

RecurrenceOp bppsa::createStatelessLoop(const ChainArrays &arrays, ValueRange sequences,
                                        ValueRange into) {
  ChainOp chain = arrays.chain;
  LoopOptions options;
  options.writeTo(into, chain.getLanesAttr());
  return RecurrenceOp::create(arrays.builder, arrays.loc, /*trajectories=*/TypeRange(),
                              into.getTypes(), sequences, /*initial=*/ValueRange(),
                              chain.getCaptures(), options);
}

Value bppsa::emitChunkSize(const ChainArrays &arrays, cost::ChunkRule rule) {
  if (int64_t size = arrays.chain.getPlan().getSize(); size > 0)
    return arrays.getIndex(size);
  return emitChunkSteps(arrays.builder, arrays.loc, rule, arrays.numSteps, arrays.numRows);
}

ArrayAttr IndexEmitter::getBlockMapping(size_t rank) const {
  SmallVector<Attribute> mapping;
  for (gpu::MappingId dim : {gpu::MappingId::DimY, gpu::MappingId::DimX})
    mapping.push_back(gpu::GPUBlockMappingAttr::get(builder.getContext(), dim));
  return builder.getArrayAttr(ArrayRef(mapping).take_back(rank));
}

/// Returns 0 if lanes hold no chunks.
static int64_t getChunksInLanes(ChainOp chain) {
  auto mapping = dyn_cast_if_present<CPUMappingAttr>(attrs::Mapping::of(chain));
  return mapping && mapping.holds(LaneContents::Chunks) ? mapping.getWidth() : 0;
}

/// Lanes hold all chunks but the last, so with one chunk they would be empty.
static bool isOneChunk(ChainOp chain) {
  int64_t steps = getNumSteps(chain), size = chain.getPlan().getSize();
  return !ShapedType::isDynamic(steps) &&
         steps <= (size > 0 ? size : cost::kCpuChunkRule.apply(steps, /*samples=*/1));
}

/// Returns an empty string if `chain` can be expanded.
static std::string getObstacle(ChainOp chain, LoopForm form) {
  if (!chain.getDestinations().empty())
    return "it has destinations; expand it before bufferization";
  bool addsParts = form.wholeLevels && chain.getPlan().getAlgorithm() == ScanAlgorithm::Chunked;
  if (!chain.getSums().empty() && !addsParts)
    return "it sums the yields of its link, which only chunks with whole levels support";
  return {};
}

static void removePlan(ChainOp chain) {
  chain.removePlanAttr();
  chain.removeStructureAttr();
  chain.removeTermsAttr();
  attrs::Mapping::remove(chain);
}

static void expandToLoops(ChainOp chain, LoopForm form) {
  int64_t chunksInLanes = getChunksInLanes(chain);
  if (chain.getPlan().isSequential() || (chunksInLanes && isOneChunk(chain)))
    return removePlan(chain);
  if (chunksInLanes)
    return expandToLanes(chain, chunksInLanes);
  if (chain.getPlan().getAlgorithm() == ScanAlgorithm::Chunked)
    return expandToChunks(chain, form);
  expandToTree(chain, form);
}

/// Scans of up to `unrollUpTo` steps become straight-line code. Emits a remark.
static LogicalResult expand(ChainOp chain, int64_t unrollUpTo, LoopForm form) {
  auto parent = chain->getParentOfType<FunctionOpInterface>();
  auto options = remark::RemarkOpts::name("ExpandScan")
                     .category("scan")
                     .function(parent ? parent.getName() : StringRef());
  std::string obstacle = getObstacle(chain, form);
  if (!obstacle.empty()) {
    remark::missed(chain.getLoc(), options) << remark::add("scan is not expanded: {0}", obstacle);
    return success();
  }
  if (failed(verifyInferredStructure(chain)))
    return failure();
  int64_t steps = getNumSteps(chain);
  bool withInitial = llvm::any_of(chain.getCotangents(), [](Value v) { return !v.use_empty(); });
  std::string plan = chain.getPlan().toString();
  std::optional<ScanSchedule> schedule;
  if (!ShapedType::isDynamic(steps) && steps > 0)
    schedule =
        ScanSchedule::get(chain.getPlan(), steps, withInitial,
                          getChunksInLanes(chain) ? FirstChunk::Matrix : form.getFirstChunk());
  if (!schedule) {
    remark::passed(chain.getLoc(), options)
        << remark::add("{0} scan expanded to loops; work and depth are known at run time", plan);
    expandToLoops(chain, form);
    return success();
  }
  bool unrolls = steps <= unrollUpTo && !chain.getLanes();
  remark::passed(chain.getLoc(), options) << remark::add(
      "{0} scan of {1} steps expanded{2}: {3} compose, {4} apply, depth {5}", plan, steps,
      unrolls ? "" : " to loops", schedule->count(ScanOperation::Kind::Compose),
      schedule->count(ScanOperation::Kind::Apply), schedule->getDepth());
  if (unrolls)
    unrollScan(chain, *schedule);
  else
    expandToLoops(chain, form);
  return success();
}

namespace {
struct ExpandScanPass : public bppsa::impl::ExpandScanBase<ExpandScanPass> {
  using ExpandScanBase::ExpandScanBase;

  void runOnOperation() override {
    SmallVector<ChainOp> chains;
    getOperation()->walk([&](ChainOp chain) {
      // A tree without levels is sequential.
      bool isTree = chain.getPlan().getAlgorithm() != ScanAlgorithm::Linear;
      if (chain.getPlan().isSequential() && !(isTree && unrollUpTo > 0))
        removePlan(chain);
      else
        chains.push_back(chain);
    });
    for (ChainOp chain : chains)
      if (failed(expand(chain, unrollUpTo, {factorLinks, wholeLevels})))
        return signalPassFailure();
  }
};
} // namespace
