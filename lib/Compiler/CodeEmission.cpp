//===- CodeEmission.cpp - objects and programs ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "bppsa/Target/Link.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace bppsa;

LogicalResult Compilation::lowerAndEmit() {
  if (options.training.target == TargetKind::CUDA)
    return lowerAndEmitGPU();
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

LogicalResult Compilation::emitObject(llvm::Module &code, const CPUTarget &target,
                                      unsigned optLevel, StringRef path) {
  std::string error;
  if (failed(emitCPUCode(code, target.cpu, optLevel, /*assembly=*/false, path, error)))
    return fail(error);
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
  return code ? emitObject(*code, target, /*optLevel=*/0, objectPath) : failure();
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
  return code ? emitObject(*code, target, options.optLevel, objectPath) : failure();
}

/// Emits the tables of the program.
LogicalResult Compilation::emitTables(const ProgramParts &parts, StringRef objectPath) {
  std::string json;
  llvm::raw_string_ostream(json) << describeModel(
      *module, image, llvm::sys::path::filename(options.input), options.training, functions);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> tables =
      buildTableModule(llvmContext, json, image.bytes, targets, functions, parts.kernels);
  addDeviceTables(*tables, /*kernels=*/{}, /*emulated=*/{}, /*images=*/{});
  return emitObject(*tables, targets.front(), options.optLevel, objectPath);
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
