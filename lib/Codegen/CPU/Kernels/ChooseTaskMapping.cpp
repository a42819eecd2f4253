//===- ChooseTaskMapping.cpp - choose samples per task --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Dialect/BPPSA/Analysis/RunningSums.h"
#include "bppsa/Dialect/BPPSA/IR/TaskMapping.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_CHOOSETASKMAPPING
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Samples per task in loops over units: a gate of an LSTM has 4 vectors of sums, which leaves
/// registers for this many.
static constexpr int64_t kSamplesTogether = 4;

/// Vectors of samples per task: one for each of the two FMA units of a core.
static constexpr int64_t kVectorsTogether = 2;

namespace {
struct ChooseTaskMapping : public bppsa::impl::ChooseTaskMappingBase<ChooseTaskMapping> {
  using ChooseTaskMappingBase::ChooseTaskMappingBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (canMap(op))
        choose(op);
    });
  }

private:
  static bool canMap(Operation *op) {
    return isa<RecurrenceOp, ChainOp>(op) && op->getNumResults() == 0 &&
           cast<PackableOpInterface>(op).getLanes() && !attrs::Mapping::of(op) &&
           !isInTimeBlocks(op);
  }

  void choose(Operation *op) {
    int64_t bytes = getMatrixBytes(op->getRegion(0)), most = cache;
    bool lanesHoldUnits = cast<PackableOpInterface>(op).getLanes() == 1, isLarge = bytes > most;
    int64_t together = lanesHoldUnits ? kSamplesTogether : kVectorsTogether;
    if (isLarge)
      attrs::Mapping::set(op, TaskMappingAttr::get(&getContext(), together));
    auto options = remark::RemarkOpts::name("ChooseTaskMapping")
                       .category("mapping")
                       .function(getOperation().getSymName());
    remark::passed(op->getLoc(), options) << remark::add(
        "{0}: tasks of up to {1} {2}samples or independent steps, as a step reads {3} "
        "bytes of matrices and the cache has {4}",
        op->getName().stripDialect(), isLarge ? together : 1, lanesHoldUnits ? "" : "vectors of ",
        bytes, most);
  }
};
} // namespace
