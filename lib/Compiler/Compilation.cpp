//===- Compilation.cpp - one run of the compiler --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Compiler/Pipelines/RunPasses.h"
#include "bppsa/Compiler/Pipelines/Training.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/RollUpSteps.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Import/ImportONNX.h"
#include "bppsa/Support/BatchAxes.h"
#include "bppsa/Support/OutputFile.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace bppsa;

StringRef bppsa::getPhaseName(Phase phase) {
  static const char *const names[] = {"import", "loss", "differentiate", "scan", "lower", "end"};
  return names[static_cast<unsigned>(phase)];
}

Compilation::Compilation(MLIRContext &context, const ModelSource &source, CompileOptions options)
    : context(context), source(source), options(std::move(options)) {
  if (this->options.gpuArchitectures.empty())
    this->options.gpuArchitectures = {"sm_90"};
  if (this->options.training.precision.empty())
    this->options.training.precision = "fp32";
}

InFlightDiagnostic Compilation::fail(const Twine &message) {
  // An ordinary error would count as a bug of a pass that runs on another thread.
  return refuse(FileLineColLoc::get(&context, source.path, 0, 0)) << message;
}

LogicalResult Compilation::selectTargets() {
  std::string error;
  FailureOr<SmallVector<CPUTarget>> selected = selectCPUTargets(options.mcpu, error);
  if (failed(selected))
    return fail(error);
  targets = *selected;
  return success();
}

LogicalResult Compilation::beginPart(const char *phase) {
  if (!options.progress)
    return success();
  std::lock_guard lock(progressMutex);
  if (isCancelled)
    return failure();
  isCancelled = !options.progress({phase, begunParts++, expectedParts});
  if (isCancelled)
    return fail("the compilation was cancelled");
  return success();
}

LogicalResult Compilation::prepare() {
  expectParts(static_cast<int64_t>(std::min(options.stopAfter, Phase::Scan)) + 1);
  return success(succeeded(selectTargets()) && succeeded(beginPart("import")) &&
                 succeeded(import()) && succeeded(runFrontend()));
}

FailureOr<std::string> Compilation::run() {
  if (failed(prepare()))
    return failure();
  if (options.emit == EmitKind::Initializers)
    return emitInitializers();
  if (options.stopAfter < Phase::Lower ||
      (options.emit == EmitKind::MLIR && options.stopAfter == Phase::End))
    return print(*module, options.printLocations);
  if (options.emit == EmitKind::Report && options.stopAfter == Phase::End)
    return emitReport();
  return lowerAndEmit();
}

//===----------------------------------------------------------------------===//
// Front end
//===----------------------------------------------------------------------===//

FailureOr<std::unique_ptr<llvm::MemoryBuffer>> Compilation::read() {
  if (source.bytes)
    return llvm::MemoryBuffer::getMemBuffer(*source.bytes, source.path,
                                            /*RequiresNullTerminator=*/false);
  auto buffer = llvm::MemoryBuffer::getFile(source.path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot be read: " + buffer.getError().message());
  return std::move(*buffer);
}

static bool holdsRankMeans(ModuleOp module) {
  return module.walk([](dist::RankMeanOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Remarks of passes are for compiler developers.
LogicalResult Compilation::collect(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
    warn(diagnostic.str());
  else if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
    remarks.push_back({CompileDiagnostic::Severity::Note, diagnostic.str()});
  else
    return failure();
  return success();
}

LogicalResult Compilation::widen(std::unique_ptr<llvm::MemoryBuffer> &file) {
  ScopedDiagnosticHandler handler(&context,
                                  [&](Diagnostic &diagnostic) { return collect(diagnostic); });
  FailureOr<std::optional<std::string>> widened = widenHalfPrecision(*file, &context);
  if (failed(widened))
    return failure();
  if (*widened)
    file = llvm::MemoryBuffer::getMemBufferCopy(**widened, source.path);
  return success();
}

LogicalResult Compilation::import() {
  FailureOr<ImportOptions> importOptions = parseImportOptions();
  if (failed(importOptions))
    return failure();
  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> file = read();
  if (failed(file) || failed(widen(*file)) || failed(releaseAxes(*file)) ||
      failed(trainConstants(*file)) || failed(untie(*file)) || failed(setTrainingMode(*file)))
    return failure();
  FailureOr<OwningOpRef<ModuleOp>> imported = failure();
  {
    ScopedDiagnosticHandler handler(&context,
                                    [&](Diagnostic &diagnostic) { return collect(diagnostic); });
    imported = importONNX(**file, &context, *importOptions);
  }
  if (failed(imported))
    return failure();
  module = std::move(*imported);
  noteFixedAxes(**file, *importOptions);
  noteUnknownSamples();
  if (failed(loadImage(**file)))
    return failure();
  chooseLossOutputs();
  if (failed(shapeLoops()) || failed(adaptToLoops()) || failed(checkLossOutputs()) ||
      failed(settleInitializers(**file)) || failed(freezeRows()))
    return failure();
  if (options.training.syncBatchNorm && !holdsRankMeans(*module))
    return fail(Twine("--sync-bn: the model has no BatchNormalization in training mode; ") +
                (options.trainingMode ? "" : "set it with --training-mode, or ") +
                "remove --sync-bn");
  if (options.pruneZeros && markZeros(*module, image) == 0)
    return fail("--prune-zeros: no float initializer of rank 2 or more holds a zero");
  return dump(*module, "import");
}

FailureOr<ImportOptions> Compilation::parseImportOptions() {
  ImportOptions importOptions;
  for (const std::string &text : options.batchAxes) {
    std::optional<BatchAxisRequest> request = BatchAxisRequest::parse(text);
    if (!request)
      return fail("--batch-axis must be NAME:AXIS, found '" + text + "'");
    importOptions.batchAxes.push_back(std::move(*request));
  }
  for (const std::string &text : options.stepAxes)
    importOptions.stepAxes.push_back(*BatchAxisRequest::parse(text));
  importOptions.carries = options.carries;
  importOptions.isUntied = options.untie.has_value();
  importOptions.sharesStatistics = options.training.syncBatchNorm;
  for (const std::string &text : options.bindings)
    importOptions.bindings.push_back(*BindRequest::parse(text));
  return importOptions;
}

static std::string describeRolledUp(const RolledUpLoop &loop) {
  std::string line = std::to_string(loop.steps) + " equal steps became one loop";
  if (loop.nodes.empty())
    return line;
  size_t count = loop.nodes.size();
  line +=
      "; a step is the node" + Twine(count == 1 ? " '" : "s '").str() + loop.nodes.front() + "'";
  return count == 1
             ? line
             : line + " to '" + loop.nodes.back() + "', " + std::to_string(count) + " of them";
}

/// Rolls up cells and layers that the exporter unrolled over time steps.
LogicalResult Compilation::rollUpSteps() {
  OwningOpRef<ModuleOp> before = module->clone();
  RollUpStepsOptions steps;
  steps.vectorsOnly = options.training.target == TargetKind::CUDA;
  PassManager pm(&context);
  if (options.preparePassManager && !options.preparePassManager(pm))
    return fail("the pass manager could not be prepared");
  pm.addNestedPass<func::FuncOp>(createConvertSingleStepsToLinalg());
  pm.addNestedPass<func::FuncOp>(createDropStepDims());
  pm.addNestedPass<func::FuncOp>(createRollUpSteps(steps, rolledUp));
  if (failed(runPasses(pm, *module, options.verifyEach, options.leaveReproducers)))
    return failure();
  // Without a loop, the original form of single-step layers is better.
  if (rolledUp.empty())
    module = std::move(before);
  for (const RolledUpLoop &loop : rolledUp)
    remarks.push_back({CompileDiagnostic::Severity::Note, describeRolledUp(loop)});
  return success();
}

LogicalResult Compilation::shapeLoops() {
  if (failed(rollUpSteps()))
    return failure();
  PassManager pm(&context);
  if (options.preparePassManager && !options.preparePassManager(pm))
    return fail("the pass manager could not be prepared");
  pm.addNestedPass<func::FuncOp>(createVectorizeBodies());
  return runPasses(pm, *module, options.verifyEach, options.leaveReproducers);
}

/// Recurrent layers in vector form are recomputed by the backward pass; other loops have to keep
/// all steps.
LogicalResult Compilation::checkLoopLimit(bool hasGraphs, bool hasVectors) {
  const TrainingOptions &training = options.training;
  if (training.getLoopLimit() == 0)
    return success();
  // The limit may be for tensors kept by a backward order.
  bool boundsLoops = training.backwardOrder.empty();
  if (training.target == TargetKind::CUDA && (hasGraphs || (hasVectors && boundsLoops)))
    return fail("--memory-limit is not supported for time loops on GPUs, which keep all steps; "
                "remove it or use --target=cpu");
  if (hasVectors && boundsLoops && training.hasPullbacks())
    return fail(
        "--memory-limit cannot be combined with recurrent layers and --loss=vjp, whose forward "
        "call keeps the states of all steps for the backward call; remove one of them");
  return success();
}

/// If only loops in graph form have states, `auto` has no scan to choose.
LogicalResult Compilation::adaptToLoops() {
  bool hasGraphs = false, hasVectors = false, goes[] = {false, false};
  module->walk<WalkOrder::PreOrder>([&](RecurrenceOp loop) {
    hasGraphs |= loop.isGraphForm();
    hasVectors |= !loop.isGraphForm() && !loop.getInitial().empty();
    goes[loop.getReverse()] |= !loop.getInitial().empty();
    return WalkResult::skip();
  });
  options.training.hasBidirectionalShards = options.training.shardTime && goes[0] && goes[1];
  if (hasGraphs && !hasVectors && options.training.backward == BackwardKind::Auto &&
      options.training.scan == "auto")
    options.training.backward = BackwardKind::Sequential;
  return checkLoopLimit(hasGraphs, hasVectors);
}

void Compilation::chooseLossOutputs() {
  std::vector<std::string> &outputs = options.training.lossOn;
  if (!options.training.hasPullbacks() || !outputs.empty())
    return;
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  for (unsigned i = 0, e = forward.getNumResults(); i < e; ++i)
    if (cast<RankedTensorType>(forward.getResultTypes()[i]).getElementType().isF32())
      outputs.push_back(attrs::Output::ofResult(forward, i).str());
}

/// Checks that each name of `--loss-on` is a graph output, and that the number of `--class-weights`
/// matches the classes of the losses.
LogicalResult Compilation::checkLossOutputs() {
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  SmallVector<StringRef> names;
  for (unsigned i = 0, e = forward.getNumResults(); i < e; ++i)
    names.push_back(attrs::Output::ofResult(forward, i).getValue());
  size_t given = options.training.classWeights.size();
  for (const LossTerm &term : options.training.getLossTerms()) {
    const auto *found = term.output.empty() ? names.begin() : llvm::find(names, term.output);
    if (found == names.end())
      return fail("--loss-on='" + term.output + "' is not a graph output; the outputs are " +
                  llvm::join(names, ", "));
    auto type = cast<RankedTensorType>(forward.getResultTypes()[found - names.begin()]);
    if (term.hasClasses() && given != 0 && type.getRank() != 0 &&
        type.getShape().back() != static_cast<int64_t>(given))
      return fail("--class-weights: found " + Twine(given) + " weights, but output '" + *found +
                  "' has " + Twine(type.getShape().back()) + " classes; give one for each");
  }
  return success();
}

LogicalResult Compilation::runPhase(StringRef name, function_ref<void(OpPassManager &)> build,
                                    ModuleOp target) {
  PassManager pm(&context);
  if (options.preparePassManager && !options.preparePassManager(pm))
    return fail("the pass manager could not be prepared");
  build(pm);
  // Verifying after each pass takes longer than most passes.
  if (failed(runPasses(pm, target, options.verifyEach, options.leaveReproducers,
                       /*verifyResult=*/true)))
    return failure();
  return dump(target, name);
}

LogicalResult Compilation::runFrontend() {
  using Builder = void (*)(OpPassManager &, const TrainingOptions &);
  const std::pair<Phase, Builder> stages[] = {{Phase::Loss, buildLossPipeline},
                                              {Phase::Differentiate, buildDifferentiationPipeline},
                                              {Phase::Scan, buildScanPipeline}};
  for (auto [phase, build] : stages) {
    if (options.stopAfter < phase)
      return success();
    const char *name = getPhaseName(phase).data();
    auto buildStage = [&, build = build](OpPassManager &pm) { build(pm, options.training); };
    if (failed(beginPart(name)) || failed(runPhase(name, buildStage, *module)))
      return failure();
    if (phase == Phase::Loss && !nothingToTrain.empty())
      return fail(nothingToTrain);
  }
  return success();
}

LogicalResult Compilation::dump(ModuleOp target, StringRef phase) {
  if (options.dumpDirectory.empty())
    return success();
  if (std::error_code code = llvm::sys::fs::create_directories(options.dumpDirectory))
    return fail("cannot create " + options.dumpDirectory + ": " + code.message());
  llvm::SmallString<128> path(options.dumpDirectory);
  llvm::sys::path::append(path, dumpPrefix + phase + ".mlir");
  if (llvm::Error error = writeFile(path, [&](llvm::raw_ostream &os) { os << print(target); }))
    return fail(llvm::toString(std::move(error)));
  return success();
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

std::string bppsa::print(Operation *operation, bool withLocations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Every phase verifies its result, so printing does not repeat it.
  OpPrintingFlags flags = OpPrintingFlags().assumeVerified();
  operation->print(stream, withLocations ? flags.enableDebugInfo() : flags);
  return text;
}

std::string bppsa::print(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

std::unique_ptr<llvm::LLVMContext> Compilation::createLLVMContext() {
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  llvmContext->setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *compilation) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        std::string message;
        llvm::raw_string_ostream stream(message);
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
        static_cast<Compilation *>(compilation)->fail(StringRef(message).split('\n').first);
      },
      this);
  return llvmContext;
}
