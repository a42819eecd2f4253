//===- CodeEmission.cpp - objects and programs ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Compiler/Pipelines/CPULowering.h"
#include "bppsa/Program/Keys.h"
#include "bppsa/Support/BackwardOrder.h"
#include "bppsa/Target/Link.h"
#include "bppsa/Target/ProgramImage.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace bppsa;

LogicalResult Compilation::lowerKernels(ModuleOp program) {
  auto buildKernels = [&](OpPassManager &pm) {
    CPULoweringOptions kernels;
    kernels.factorLinks = options.training.jacobians != "dense";
    kernels.memoryLimit = options.training.getLoopLimit();
    kernels.keepsGradientOrder =
        !options.distributed.empty() || !options.training.backwardOrder.empty();
    std::optional<BackwardOrder> order = BackwardOrder::parse(options.training.backwardOrder);
    kernels.signalsGradients = !options.distributed.empty() || (order && order->carriesAny());
    buildKernelPipeline(pm, kernels);
  };
  expectParts(1);
  if (failed(beginPart("kernels")) || failed(runPhase("kernels", buildKernels, program)))
    return failure();
  addFirstUses(program, functions);
  return success();
}

std::string Compilation::describe() {
  llvm::json::Value model = describeModel(*module, image, llvm::sys::path::filename(source.path),
                                          options.training, functions, rolledUp);
  (*model.getAsObject())[program::keys::kClassification] = llvm::json::Object(classification);
  if (!constantWeights.empty())
    (*model.getAsObject())[program::keys::kConstantWeights] = llvm::json::Array(constantWeights);
  std::string json;
  llvm::raw_string_ostream(json) << model;
  return json;
}

FailureOr<std::string> Compilation::lowerAndEmit() {
  if (options.training.target == TargetKind::CUDA)
    return lowerAndEmitGPU();
  functions = collectFunctions(*module, options.training);
  OwningOpRef<ModuleOp> kernels = module->clone();
  if (failed(lowerKernels(*kernels)))
    return failure();
  if (options.stopAfter == Phase::Lower || options.emit == EmitKind::LLVM ||
      options.emit == EmitKind::Assembly)
    return emitText(*kernels);
  FailureOr<SmallVector<std::string>> objects = emitObjects(*kernels, describe());
  if (failed(objects))
    return failure();
  return link(*objects);
}

FailureOr<OwningOpRef<ModuleOp>> Compilation::lower(ModuleOp part, const CPUTarget &target,
                                                    StringRef name) {
  OwningOpRef<ModuleOp> lowered = part.clone();
  CPULoweringOptions lowering;
  lowering.registers = target.registers * target.vectorBits / (lowering.lanes * 32);
  auto build = [&](OpPassManager &pm) { buildCPUCodePipeline(pm, lowering); };
  if (failed(runPhase("lower." + name.str(), build, *lowered)))
    return failure();
  return lowered;
}

FailureOr<std::string> Compilation::emitText(ModuleOp program) {
  const CPUTarget &target = targets.back();
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(program, target, target.isa);
  if (failed(lowered))
    return failure();
  if (options.stopAfter == Phase::Lower)
    return print(**lowered);
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> code = translateHost(
      **lowered, *llvmContext, target, functions, /*kernels=*/{}, getPasses(CodePasses::Kernels));
  if (!code)
    return failure();
  if (options.emit == EmitKind::LLVM)
    return print(*code);
  std::string error;
  FailureOr<std::string> text =
      emitCPUCode(*code, target.cpu, options.optLevel, /*assembly=*/true, error);
  if (failed(text))
    return fail(error);
  return text;
}

LogicalResult Compilation::emitObject(llvm::Module &code, const CPUTarget &target,
                                      unsigned optLevel, std::string &object) {
  std::string error;
  FailureOr<std::string> emitted =
      emitCPUCode(code, target.cpu, optLevel, /*assembly=*/false, error);
  if (failed(emitted))
    return fail(error);
  object = std::move(*emitted);
  return success();
}

LogicalResult Compilation::emitHost(const ProgramParts &parts, std::string &object) {
  // Host functions run on every supported processor, and none of them is hot.
  const CPUTarget &target = targets.front();
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(*parts.host, target, "host");
  if (failed(lowered))
    return failure();
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> code = translateHost(**lowered, *llvmContext, target, functions,
                                                     parts.kernels, getPasses(CodePasses::Host));
  return code ? emitObject(*code, target, /*optLevel=*/0, object) : failure();
}

LogicalResult Compilation::emitKernels(const ProgramParts &parts, unsigned group,
                                       const CPUTarget &target, std::string &object) {
  std::string name = target.isa + "." + std::to_string(group);
  FailureOr<OwningOpRef<ModuleOp>> lowered = lower(*parts.groups[group], target, name);
  if (failed(lowered))
    return failure();
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> code = translateKernels(
      **lowered, *llvmContext, target, parts.kernels, getPasses(CodePasses::Kernels));
  return code ? emitObject(*code, target, options.optLevel, object) : failure();
}

LogicalResult Compilation::emitTables(const ProgramParts &parts, StringRef json,
                                      std::string &object) {
  std::unique_ptr<llvm::LLVMContext> llvmContext = createLLVMContext();
  std::unique_ptr<llvm::Module> tables =
      buildTableModule(*llvmContext, json, image.bytes, targets, functions, parts.kernels);
  addDeviceTables(*tables, /*kernels=*/{}, /*emulated=*/{}, /*images=*/{});
  return emitObject(*tables, targets.front(), options.optLevel, object);
}

FailureOr<SmallVector<std::string>> Compilation::emitObjects(ModuleOp program, StringRef json) {
  ProgramParts parts = splitProgram(program);
  SmallVector<std::function<LogicalResult(std::string &)>> jobs = {
      [&](std::string &object) { return emitHost(parts, object); },
      [&](std::string &object) { return emitTables(parts, json, object); }};
  for (const CPUTarget &target : llvm::reverse(targets))
    for (unsigned group = 0; group < parts.groups.size(); ++group)
      jobs.push_back([&parts, &target, group, this](std::string &object) {
        return emitKernels(parts, group, target, object);
      });
  SmallVector<std::string> objects(jobs.size());
  expectParts(static_cast<int64_t>(jobs.size()));
  auto run = [&](size_t number) {
    return success(succeeded(beginPart("code")) && succeeded(jobs[number](objects[number])));
  };
  if (failed(failableParallelForEachN(&context, 0, jobs.size(), run)))
    return failure();
  return objects;
}

FailureOr<std::string> Compilation::link(ArrayRef<std::string> objects) {
  expectParts(1);
  if (failed(beginPart("link")))
    return failure();
  LinkKind kind = options.emit == EmitKind::Executable ? LinkKind::Executable
                  : options.emit == EmitKind::Shared   ? LinkKind::Shared
                                                       : LinkKind::Relocatable;
  SmallVector<std::string> archives;
  if (kind != LinkKind::Relocatable) {
    auto addBeside = [&](StringRef name) {
      llvm::SmallString<128> archive = llvm::sys::path::parent_path(options.runtimeLibrary);
      llvm::sys::path::append(archive, name);
      archives.push_back(archive.str().str());
    };
    if (options.emulate)
      addBeside("libbppsa_emulator.a");
    if (!options.distributed.empty())
      addBeside("libbppsa_mpi.a");
    archives.push_back(options.runtimeLibrary);
  }
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> stub = hasLinker() ? nullptr : findStub();
  FailureOr<std::string> linked = stub ? linkImage(stub->getBuffer(), objects, error)
                                       : linkProgram(kind, objects, archives, error);
  if (failed(linked))
    return fail(error);
  return linked;
}

/// Returns the stub executable, the run time to which a compiled program can be appended, or null.
std::unique_ptr<llvm::MemoryBuffer> Compilation::findStub() {
  if (options.emit != EmitKind::Executable || options.training.target != TargetKind::CPU ||
      !options.distributed.empty())
    return nullptr;
  llvm::SmallString<128> path = llvm::sys::path::parent_path(options.runtimeLibrary);
  llvm::sys::path::append(path, "bppsa-stub");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? std::move(*buffer) : nullptr;
}
