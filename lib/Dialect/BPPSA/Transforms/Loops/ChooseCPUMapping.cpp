//===- ChooseCPUMapping.cpp - what the vectors of loops hold --------------===//
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
    // One sample in a vector leaves its lanes to the units.
    auto mapping = CPUMappingAttr::get(
        &getContext(), width == 1 ? LaneContents::Units : LaneContents::Samples, width);
    getOperation().walk([&](Operation *op) {
      if (canMap(op))
        map(op, mapping, own);
    });
  }

private:
  /// A loop in graph form, or one that is packed, has no vectors to choose for.
  static bool canMap(Operation *op) {
    bool isLoop = isa<RecurrenceOp, ChainOp>(op);
    return (isLoop || isa<OuterSumOp, StepSumOp>(op)) &&
           !cast<PackableOpInterface>(op).getLanes() && !attrs::Mapping::of(op) &&
           !(isLoop && isGraphBody(op->getRegion(0).front()));
  }

  static bool isChunked(Operation *op) {
    auto chain = dyn_cast<ChainOp>(op);
    return chain && chain.getPlan().getAlgorithm() == ScanAlgorithm::Chunked;
  }

  void map(Operation *op, CPUMappingAttr mapping, IntegerAttr own) {
    attrs::Mapping::set(op, mapping);
    auto options = remark::RemarkOpts::name("ChooseCPUMapping")
                       .category("mapping")
                       .function(getOperation().getSymName());
    remark::passed(op->getLoc(), options)
        << remark::add("{0}: lanes hold {1}, {2} of a vector; {3}", op->getName().stripDialect(),
                       stringifyLaneContents(mapping.getLanes()), mapping.getWidth(),
                       !own            ? "as in all functions"
                       : isChunked(op) ? "the function asks for them, and chunks of the scan get "
                                         "lanes of their own"
                                       : "the function asks for them");
  }
};
} // namespace
