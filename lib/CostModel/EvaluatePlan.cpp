//===- EvaluatePlan.cpp - evaluate scan plans of a module -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/ChainExtraction.h"
#include "bppsa/CostModel/DeviceCosts.h"
#include "bppsa/CostModel/EvaluationJSON.h"
#include "bppsa/CostModel/Passes.h"
#include "bppsa/Support/OutputFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace bppsa {
#define GEN_PASS_DEF_EVALUATEPLAN
#include "bppsa/CostModel/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static StringRef getFunctionName(Operation *op) {
  auto parent = op->getParentOfType<FunctionOpInterface>();
  return parent ? parent.getName() : StringRef();
}

static void emitRemark(Operation *op, const PlanEvaluation &plan) {
  auto options =
      remark::RemarkOpts::name("EvaluatePlan").category("evaluate").function(getFunctionName(op));
  remark::analysis(op->getLoc(), options) << remark::add(
      "{0} on {1} links: depth {2}, {3} compose, {4} apply, {5} flops, {6} on the critical path, "
      "{7} bytes moved, {8} bytes of memory",
      plan.plan, plan.numLinks, plan.depth, plan.composes, plan.applies, plan.flops,
      plan.criticalPathFlops, plan.bytes, plan.peakBytes);
}

static PlanEvaluation::Drawing drawShorter(const LinkChain &chain, PlanAttr plan,
                                           const EvaluationOptions &options) {
  constexpr int64_t maxLinks = 16, maxInChunk = 4;
  LinkChain shorter = chain;
  shorter.links.resize(maxLinks);
  if (plan.getAlgorithm() == ScanAlgorithm::Chunked)
    plan =
        PlanAttr::get(plan.getContext(), plan.getAlgorithm(), std::min(plan.getSize(), maxInChunk));
  return {plan.toString(), maxLinks, std::move(evaluatePlan(shorter, plan, options)->levels)};
}

namespace {
struct EvaluatePlanPass : public bppsa::impl::EvaluatePlanBase<EvaluatePlanPass> {
  using EvaluatePlanBase::EvaluatePlanBase;

  std::string *text = nullptr;

  void runOnOperation() override {
    evaluationOptions = {};
    plans.clear();
    evaluations.clear();
    numChains.clear();
    if (failed(checkOptions()))
      return signalPassFailure();
    markAllAnalysesPreserved();
    WalkResult result = getOperation().walk([&](ChainOp chain) {
      return failed(evaluateLoop(chain)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (failed(evaluateLists<jacobian::ApplyOp>()) || failed(evaluateLists<jacobian::LinkOp>()))
      return signalPassFailure();
    result = getOperation().walk([&](FunctionOpInterface function) {
      bool isKnown = function.isExternal() || succeeded(evaluateLayers(function));
      return isKnown ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (failed(write()))
      signalPassFailure();
  }

private:
  LogicalResult checkOptions() {
    auto fail = [&](const Twine &message) { return emitError(getOperation().getLoc(), message); };
    if (length < 0 || batch < 1 || stepOverhead < 0)
      return fail("needs a length and a step overhead of at least 0 and a batch of at least 1");
    for (int64_t count : workers)
      if (count < 1)
        return fail("needs at least 1 worker, found " + Twine(count));
    if (!workers.empty())
      evaluationOptions.workers.assign(workers.begin(), workers.end());
    evaluationOptions.stepOverhead = stepOverhead;
    for (const std::string &text : algorithms) {
      PlanAttr plan = PlanAttr::fromString(&getContext(), text);
      if (!plan || !ScanSchedule::get(plan, 1, /*withInitial=*/false))
        return fail("'" + text +
                    "' is not a plan to evaluate; use linear, blelloch, hybrid:L or "
                    "chunked:C with whole L >= 0 and C >= 1");
      plans.push_back(plan);
    }
    return success();
  }

  LogicalResult evaluateLoop(ChainOp op) {
    FailureOr<LinkChain> chain = getLinkChain(op, {length, batch});
    if (failed(chain))
      return failure();
    ChainEvaluation evaluation{std::move(*chain)};
    evaluation.step = describeStep(op);
    if (gpu && !op.getLanes())
      evaluation.device = evaluateOnDevice(getDeviceCost(op), algorithms,
                                           evaluation.chain.links.size(), evaluation.chain.batch);
    return evaluate(op, std::move(evaluation), op.getPlanAttr());
  }

  template <typename OpTy> LogicalResult evaluateLists() {
    for (ArrayRef<OpTy> list : findLinkLists<OpTy>(getOperation()))
      if (failed(evaluate(OpTy(list.front()), {getLinkChain(list, {length, batch})}, {})))
        return failure();
    return success();
  }

  LogicalResult evaluateLayers(FunctionOpInterface function) {
    auto ignore = [](Operation *, StringRef) {};
    for (const LayerChain &layers : findLayerChains(function, ignore)) {
      ChainEvaluation evaluation{getLinkChain(layers, {length, batch})};
      evaluation.graph = describeLayers(layers);
      if (failed(evaluate(layers.links.front().getOp(), std::move(evaluation), {})))
        return failure();
    }
    return success();
  }

  LogicalResult evaluate(Operation *op, ChainEvaluation evaluated, PlanAttr own) {
    LinkChain &chain = evaluated.chain;
    SmallVector<PlanAttr> wanted = plans;
    if (wanted.empty() && own)
      wanted = {own};
    if (wanted.empty())
      for (StringRef text : {"linear", "blelloch", "hybrid:2", "chunked:32"})
        wanted.push_back(PlanAttr::fromString(&getContext(), text));
    if (int64_t link = findMismatch(chain))
      return op->emitOpError("begins a chain whose link ")
             << link << " has " << chain.links[link - 1].getCols()
             << " columns, but the link before it " << chain.links[link - 2].getRows() << " rows";
    std::string function = getFunctionName(op).str();
    chain.name = function + "#" + std::to_string(numChains[function]++);
    chain.sparseCotangents = sparseCotangents;
    for (PlanAttr plan : wanted) {
      std::optional<PlanEvaluation> evaluation = evaluatePlan(chain, plan, evaluationOptions);
      if (!evaluation)
        return op->emitOpError("has the plan '")
               << plan.toString()
               << "', which leaves the tree to the run time; name plans with algorithms=...";
      emitRemark(op, *evaluation);
      if (int64_t(chain.links.size()) > evaluationOptions.maxOperations)
        evaluation->drawing = drawShorter(chain, plan, evaluationOptions);
      evaluated.plans.push_back(std::move(*evaluation));
    }
    evaluations.push_back(std::move(evaluated));
    return success();
  }

  LogicalResult write() {
    auto print = [&](raw_ostream &os) { writeEvaluations(evaluations, evaluationOptions, os); };
    if (text) {
      llvm::raw_string_ostream stream(*text);
      print(stream);
    } else if (output == "-") {
      print(llvm::outs());
    } else if (llvm::Error error = writeFile(output, print)) {
      return emitError(getOperation().getLoc(), llvm::toString(std::move(error)));
    }
    return success();
  }

  EvaluationOptions evaluationOptions;
  SmallVector<PlanAttr> plans;
  std::vector<ChainEvaluation> evaluations;
  std::map<std::string, int64_t> numChains;
};
} // namespace

std::unique_ptr<Pass> bppsa::createEvaluatePlan(EvaluatePlanOptions options, std::string &text) {
  auto pass = std::make_unique<EvaluatePlanPass>(std::move(options));
  pass->text = &text;
  return pass;
}
