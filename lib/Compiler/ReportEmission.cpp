//===- ReportEmission.cpp - report on scan plans of a model ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/CostModel/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "bppsa/Report/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace bppsa;

/// Returns a copy of the loss and of one training step: layers are read from the loss and time
/// loops from the step.
static OwningOpRef<ModuleOp> copyForReport(ModuleOp module, const TrainingOptions &options) {
  auto loss = EntryAttr::get(module.getContext(), EntryRole::Loss);
  auto step =
      EntryAttr::get(module.getContext(), EntryRole::Step, options.getVariants().front().name);
  OwningOpRef<ModuleOp> copy = module.clone();
  for (auto function : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (EntryAttr entry = attrs::Entry::of(function); entry != loss && entry != step)
      function.erase();
  return copy;
}

static SmallVector<std::string> getPlans(const TrainingOptions &options) {
  SmallVector<std::string> plans = {"linear",   "blelloch",   "hybrid:1",  "hybrid:2",
                                    "hybrid:3", "chunked:32", "chunked:64"};
  bool isNamed = options.scan != "auto" && options.scan != "chunked";
  if (isNamed && !llvm::is_contained(plans, options.scan))
    plans.push_back(options.scan);
  return plans;
}

/// Returns the plans of the program's backward passes.
static std::vector<std::string> getCompiledPlans(const TrainingOptions &options, bool ofLayers) {
  std::vector<std::string> plans;
  for (const Variant &variant : options.getVariants()) {
    bool isSequential = variant.plan.empty() || (ofLayers && !options.hasLayerLinks());
    std::string plan = isSequential ? "linear" : variant.plan;
    // Over time, the run time then chooses the chunk length.
    if (!ofLayers && plan == "auto")
      plan = "chunked";
    if (!llvm::is_contained(plans, plan))
      plans.push_back(plan);
  }
  return plans;
}

ReportHeader Compilation::getReportHeader() {
  std::string model = llvm::sys::path::filename(source.path).str();
  const TrainingOptions &training = options.training;
  return {"Scan plans for " + model,
          {{"model", model},
           {"target", training.target == TargetKind::CUDA ? "cuda" : "cpu"},
           {"loss", llvm::join(training.losses, ", ")},
           {"T, if the model leaves it dynamic", std::to_string(options.reportLength)},
           {"B, if the model leaves it dynamic", std::to_string(options.reportBatch)}},
          getCompiledPlans(training, /*ofLayers=*/false),
          getCompiledPlans(training, /*ofLayers=*/true)};
}

FailureOr<std::string> Compilation::emitReport() {
  EvaluatePlanOptions evaluation;
  evaluation.length = options.reportLength;
  evaluation.batch = options.reportBatch;
  evaluation.algorithms = getPlans(options.training);
  evaluation.gpu = options.training.target == TargetKind::CUDA;
  evaluation.workers = {1, 2, 4, 16, 64, 1024};
  std::string evaluated;
  auto build = [&](OpPassManager &pm) {
    pm.addNestedPass<func::FuncOp>(createInferStructure());
    pm.addPass(createEvaluatePlan(evaluation, evaluated));
  };
  OwningOpRef<ModuleOp> copy = copyForReport(*module, options.training);
  if (failed(runPhase("report", build, *copy)))
    return failure();

  std::string page;
  llvm::raw_string_ostream stream(page);
  if (llvm::Error error = writeReport(evaluated, getReportHeader(), stream))
    return fail(llvm::toString(std::move(error)));
  return page;
}
