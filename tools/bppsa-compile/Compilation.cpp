//===- Compilation.cpp - one run of the compiler --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Import/ImportONNX.h"
#include "bppsa/Pipelines/CPULowering.h"
#include "bppsa/Pipelines/Training.h"
#include "bppsa/Target/Link.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace bppsa;

StringRef bppsa::getPhaseName(Phase phase) {
  static const char *const names[] = {"import", "loss", "differentiate", "scan", "lower", "end"};
  return names[static_cast<unsigned>(phase)];
}

LogicalResult Compilation::fail(const Twine &message) {
  return emitError(FileLineColLoc::get(&context, options.input, 0, 0)) << message;
}

LogicalResult Compilation::run() {
  std::string error;
  FailureOr<SmallVector<CPUTarget>> selected = selectCPUTargets(options.mcpu, error);
  if (failed(selected))
    return fail(error);
  targets = *selected;
  if (failed(import()) || failed(runFrontend()))
    return failure();
  if (options.stopAfter < Phase::Lower ||
      (options.emit == EmitKind::MLIR && options.stopAfter == Phase::End))
    return writeOutput([&](llvm::raw_ostream &os) { module->print(os); });
  return lowerAndEmit();
}

//===----------------------------------------------------------------------===//
// Front end
//===----------------------------------------------------------------------===//

/// Every float initializer is trained, but exporters keep constants in them too.
static std::string describeTrainedConstants(ModuleOp module) {
  SmallVector<StringRef> names = findTrainedConstants(module);
  if (names.empty())
    return "";
  auto escape = [](StringRef name) { return llvm::Regex::escape(name); };
  std::string freeze = "--freeze='^(" + llvm::join(llvm::map_range(names, escape), "|") + ")$'";
  bool isOne = names.size() == 1;
  return (isOne ? "initializer '" : "initializers '") + llvm::join(names, "', '") +
         (isOne ? "' is a scalar, which exporters use for a constant, and is trained; "
                : "' are scalars, which exporters use for constants, and are trained; ") +
         freeze + (isOne ? " keeps it" : " keeps them");
}

LogicalResult Compilation::import() {
  FailureOr<ImportOptions> importOptions = parseImportOptions();
  if (failed(importOptions))
    return failure();
  FailureOr<OwningOpRef<ModuleOp>> imported = importONNX(options.input, &context, *importOptions);
  if (failed(imported))
    return failure();
  FailureOr<OnnxImage> loaded = loadOnnxImage(options.input, &context);
  if (failed(loaded))
    return failure();
  module = std::move(*imported);
  image = std::move(*loaded);
  if (failed(freezeParameters(*module, options.training.freeze)) || failed(checkLossOutput()))
    return failure();
  warning = describeTrainedConstants(*module);
  return dump(*module, "import");
}

/// Reads every `--batch-axis=NAME:AXIS`.
FailureOr<ImportOptions> Compilation::parseImportOptions() {
  ImportOptions importOptions;
  for (StringRef text : options.batchAxes) {
    auto [name, axisText] = text.rsplit(':');
    unsigned axis;
    if (axisText.getAsInteger(10, axis))
      return FailureOr<ImportOptions>(fail("--batch-axis needs NAME:AXIS, found '" + text + "'"));
    importOptions.batchAxes[name] = axis;
  }
  return importOptions;
}

/// `--loss-on` must name a float output of the graph.
LogicalResult Compilation::checkLossOutput() {
  if (options.training.lossOn.empty())
    return success();
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  std::string names;
  for (unsigned i = 0, e = forward.getNumResults(); i < e; ++i) {
    StringRef name = forward.getResultAttrOfType<StringAttr>(i, "bppsa.output").getValue();
    if (name == options.training.lossOn)
      return success();
    names += (i ? ", " : "") + name.str();
  }
  return fail("--loss-on='" + options.training.lossOn + "' is no graph output; the outputs are " +
              names);
}

LogicalResult Compilation::runPhase(StringRef name, function_ref<void(OpPassManager &)> build,
                                    ModuleOp target, bool verifyEach) {
  PassManager pm(&context);
  pm.enableVerifier(verifyEach);
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(pm);
  build(pm);
  if (failed(pm.run(target)))
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
    auto buildStage = [&, build = build](OpPassManager &pm) { build(pm, options.training); };
    if (failed(runPhase(getPhaseName(phase), buildStage, *module)))
      return failure();
  }
  return success();
}

/// Writes the IR after a phase where `--dump-phases-to` asks for it.
LogicalResult Compilation::dump(ModuleOp target, StringRef phase) {
  if (options.dumpDirectory.empty())
    return success();
  if (std::error_code code = llvm::sys::fs::create_directories(options.dumpDirectory))
    return fail("cannot create " + options.dumpDirectory + ": " + code.message());
  llvm::SmallString<128> path(options.dumpDirectory);
  llvm::sys::path::append(path, phase + ".mlir");
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (code)
    return fail("cannot write " + path + ": " + code.message());
  target.print(stream);
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

LogicalResult Compilation::lowerAndEmit() {
  functions = collectFunctions(*module, options.training);
  OwningOpRef<ModuleOp> kernels = module->clone();
  auto buildKernels = [](OpPassManager &pm) { buildKernelPipeline(pm, CPULoweringOptions()); };
  if (failed(runPhase("kernels", buildKernels, *kernels)))
    return failure();
  if (options.stopAfter == Phase::Lower || options.emit == EmitKind::LLVM ||
      options.emit == EmitKind::Assembly)
    return emitText(*kernels);
  return emitProgram(*kernels);
}

/// Lowers a copy of `part` for `target`.
FailureOr<OwningOpRef<ModuleOp>> Compilation::lower(ModuleOp part, const CPUTarget &target,
                                                    StringRef name) {
  OwningOpRef<ModuleOp> lowered = part.clone();
  CPULoweringOptions lowering;
  lowering.registers = target.registers * target.vectorBits / (lowering.lanes * 32);
  auto build = [&](OpPassManager &pm) { buildCPUCodePipeline(pm, lowering); };
  // There are many passes and operations here, and few of the passes are ours: the
  // result is verified rather than every step to it.
  if (failed(runPhase("lower." + name.str(), build, *lowered, /*verifyEach=*/false)) ||
      failed(verify(*lowered)))
    return failure();
  return lowered;
}

/// Emits text for one instruction set: the whole program for its widest.
LogicalResult Compilation::emitText(ModuleOp program) {
  const CPUTarget &target = targets.back();
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(program, target, target.isa);
  if (failed(lowered))
    return failure();
  if (options.stopAfter == Phase::Lower)
    return writeOutput([&](llvm::raw_ostream &os) { (*lowered)->print(os); });
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateHost(**lowered, llvmContext, target, functions, /*kernels=*/{}, options.optLevel);
  if (!code)
    return failure();
  if (options.emit == EmitKind::LLVM)
    return writeOutput([&](llvm::raw_ostream &os) { code->print(os, nullptr); });
  std::string error, temporary = options.output + ".tmp";
  llvm::FileRemover remove(temporary);
  if (failed(emitCPUCode(*code, target.cpu, options.optLevel, /*assembly=*/true, temporary, error)))
    return fail(error);
  if (std::error_code renamed = llvm::sys::fs::rename(temporary, options.output))
    return fail("cannot write " + options.output + ": " + renamed.message());
  return success();
}

LogicalResult Compilation::emitHost(const ProgramParts &parts, StringRef objectPath) {
  // Every processor that runs the program runs these functions, and nothing in them is hot.
  const CPUTarget &target = targets.front();
  unsigned optLevel = std::min(options.optLevel, 1u);
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(*parts.host, target, "host");
  if (failed(lowered))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateHost(**lowered, llvmContext, target, functions, parts.kernels, optLevel);
  std::string error;
  if (!code)
    return failure();
  if (failed(emitCPUCode(*code, target.cpu, /*optLevel=*/0, /*assembly=*/false, objectPath, error)))
    return fail(error);
  return success();
}

LogicalResult Compilation::emitKernels(const ProgramParts &parts, unsigned group,
                                       const CPUTarget &target, StringRef objectPath) {
  std::string name = target.isa + "." + std::to_string(group);
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(*parts.groups[group], target, name);
  if (failed(lowered))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateKernels(**lowered, llvmContext, target, parts.kernels, options.optLevel);
  std::string error;
  if (!code)
    return failure();
  if (failed(
          emitCPUCode(*code, target.cpu, options.optLevel, /*assembly=*/false, objectPath, error)))
    return fail(error);
  return success();
}

/// Emits the tables of the program.
LogicalResult Compilation::emitTables(const ProgramParts &parts, StringRef objectPath) {
  std::string json, error;
  llvm::raw_string_ostream(json) << describeModel(
      *module, image, llvm::sys::path::filename(options.input), options.training, functions);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> tables =
      buildTableModule(llvmContext, json, image.bytes, targets, functions, parts.kernels);
  if (failed(emitCPUCode(*tables, targets.front().cpu, options.optLevel, /*assembly=*/false,
                         objectPath, error)))
    return fail(error);
  return success();
}

LogicalResult Compilation::emitProgram(ModuleOp program) {
  llvm::SmallString<128> directory;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("bppsa-compile", directory))
    return fail("cannot create a temporary directory: " + code.message());
  llvm::scope_exit removeDirectory([&] { llvm::sys::fs::remove_directories(directory); });

  // More groups than cores even out what the cores have to do.
  ProgramParts parts = splitProgram(program, /*maxGroups=*/4);
  SmallVector<std::function<LogicalResult(StringRef)>> jobs = {
      [&](StringRef path) { return emitHost(parts, path); },
      [&](StringRef path) { return emitTables(parts, path); }};
  for (const CPUTarget &target : llvm::reverse(targets))
    for (unsigned group = 0; group < parts.groups.size(); ++group)
      jobs.push_back([&parts, &target, group, this](StringRef path) {
        return emitKernels(parts, group, target, path);
      });
  SmallVector<std::string> objects;
  for (unsigned i = 0; i < jobs.size(); ++i)
    objects.push_back((directory + "/" + Twine(i) + ".o").str());
  auto run = [&](auto job) { return std::get<0>(job)(std::get<1>(job)); };
  if (failed(failableParallelForEach(&context, llvm::zip(jobs, objects), run)))
    return failure();
  return link(objects);
}

LogicalResult Compilation::link(ArrayRef<std::string> objects) {
  LinkKind kind = options.emit == EmitKind::Executable ? LinkKind::Executable
                  : options.emit == EmitKind::Shared   ? LinkKind::Shared
                                                       : LinkKind::Relocatable;
  std::string error,
      temporary = options.output + ".tmp" + std::to_string(llvm::sys::Process::getProcessId());
  llvm::FileRemover removeTemporary(temporary);
  if (failed(linkProgram(kind, objects, temporary, options.compilerPath, error)))
    return fail(error);
  if (std::error_code code = llvm::sys::fs::rename(temporary, options.output))
    return fail("cannot write " + options.output + ": " + code.message());
  return success();
}

/// Writes a text output whole or not at all; `-` is the standard output.
LogicalResult Compilation::writeOutput(function_ref<void(llvm::raw_ostream &)> print) {
  if (options.output == "-") {
    print(llvm::outs());
    return success();
  }
  llvm::Error error = llvm::writeToOutput(options.output, [&](llvm::raw_ostream &os) {
    print(os);
    return llvm::Error::success();
  });
  if (error)
    return fail("cannot write " + options.output + ": " + llvm::toString(std::move(error)));
  return success();
}
