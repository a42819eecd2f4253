//===- ReportEmission.cpp - what scan plans cost for a model, as a page ---===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Analysis/Passes.h"
#include "bppsa/Analysis/Report.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace bppsa;

/// The layers are in `@loss` and the chains of time loops in a training step; every
/// other function repeats them.
static OwningOpRef<ModuleOp> copyForReport(ModuleOp module, const TrainingOptions &options) {
  std::string step = "step_" + options.getVariants().front().name;
  OwningOpRef<ModuleOp> copy = module.clone();
  for (auto function : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (function.getName() != "loss" && function.getName() != step)
      function.erase();
  return copy;
}

/// The plans of the report: the usual ones, and the one that the user names.
static SmallVector<std::string> getPlans(const TrainingOptions &options) {
  SmallVector<std::string> plans = {"linear",   "blelloch",   "hybrid:1",  "hybrid:2",
                                    "hybrid:3", "chunked:32", "chunked:64"};
  bool isNamed = options.scan != "auto" && options.scan != "chunked";
  if (isNamed && !llvm::is_contained(plans, options.scan))
    plans.push_back(options.scan);
  return plans;
}

ReportHeader Compilation::getReportHeader() {
  std::string model = llvm::sys::path::filename(options.input).str();
  return {"Scan plans for " + model,
          {{"model", model},
           {"target", options.training.target == TargetKind::CUDA ? "cuda" : "cpu"},
           {"loss", options.training.loss},
           {"T, where the model leaves it open", std::to_string(options.reportLength)},
           {"B, where the model leaves it open", std::to_string(options.reportBatch)}}};
}

LogicalResult Compilation::emitReport() {
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("bppsa-report", "json", path))
    return fail("cannot create a temporary file: " + code.message());
  llvm::FileRemover removeFile(path);

  EvaluatePlanOptions evaluation;
  evaluation.output = path.str().str();
  evaluation.length = options.reportLength;
  evaluation.batch = options.reportBatch;
  evaluation.algorithms = getPlans(options.training);
  evaluation.gpu = options.training.target == TargetKind::CUDA;
  evaluation.workers = {1, 2, 4, 16, 64, 1024};
  auto build = [&](OpPassManager &pm) {
    pm.addNestedPass<func::FuncOp>(createInferStructure());
    pm.addPass(createEvaluatePlan(evaluation));
  };
  OwningOpRef<ModuleOp> copy = copyForReport(*module, options.training);
  if (failed(runPhase("report", build, *copy)))
    return failure();

  auto evaluated = llvm::MemoryBuffer::getFile(path);
  if (!evaluated)
    return fail("cannot read " + path + ": " + evaluated.getError().message());
  std::string page;
  llvm::raw_string_ostream stream(page);
  if (llvm::Error error = writeReport((*evaluated)->getBuffer(), getReportHeader(), stream))
    return fail(llvm::toString(std::move(error)));
  return writeOutput([&](llvm::raw_ostream &os) { os << page; });
}
