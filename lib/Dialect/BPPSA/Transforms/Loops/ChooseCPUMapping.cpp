//===- ChooseCPUMapping.cpp - lane contents of CPU loops ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_CHOOSECPUMAPPING
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct ChooseCPUMapping : public bppsa::impl::ChooseCPUMappingBase<ChooseCPUMapping> {
  using ChooseCPUMappingBase::ChooseCPUMappingBase;

  void runOnOperation() override {
    auto own = attrs::Lanes::of(getOperation());
    int64_t width = own ? own.getInt() : lanes;
    if (width < 1) {
      getOperation().emitOpError("must be packed into at least one lane, found ") << width;
      return signalPassFailure();
    }
    getOperation().walk([&](Operation *op) {
      if (canMap(op))
        map(op, choose(op, width), own);
    });
  }

private:
  /// Loops in graph form and packed loops need no mapping.
  static bool canMap(Operation *op) {
    bool isLoop = isa<RecurrenceOp, ChainOp>(op);
    return (isLoop || isa<TransitionOp, OuterSumOp, StepSumOp>(op)) &&
           !cast<PackableOpInterface>(op).getLanes() && !attrs::Mapping::of(op) &&
           !(isLoop && isGraphBody(op->getRegion(0).front()));
  }

  /// With one sample per vector, lanes hold chunks if the plan is chunked, else hidden units.
  CPUMappingAttr choose(Operation *op, int64_t width) {
    if (width > 1)
      return CPUMappingAttr::get(&getContext(), LaneContents::Samples, width);
    auto chain = dyn_cast<ChainOp>(op);
    bool isChunked = chain && chain.getPlan().getAlgorithm() == ScanAlgorithm::Chunked;
    return isChunked && lanes > 1 ? CPUMappingAttr::get(&getContext(), LaneContents::Chunks, lanes)
                                  : CPUMappingAttr::get(&getContext(), LaneContents::Units, 1);
  }

  void map(Operation *op, CPUMappingAttr mapping, IntegerAttr own) {
    attrs::Mapping::set(op, mapping);
    auto options = remark::RemarkOpts::name("ChooseCPUMapping")
                       .category("mapping")
                       .function(getOperation().getSymName());
    remark::passed(op->getLoc(), options)
        << remark::add("{0}: lanes hold {1}, {2} of a vector; {3}", op->getName().stripDialect(),
                       stringifyLaneContents(mapping.getLanes()), mapping.getWidth(),
                       !own                                  ? "as in all functions"
                       : mapping.holds(LaneContents::Chunks) ? "the function leaves lanes to them"
                                                             : "the function asks for them");
  }
};
} // namespace
