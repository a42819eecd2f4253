//===- CPUTargets.cpp - CPU instruction sets of programs ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/CPUTargets.h"
#include "CPUMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace bppsa;

static const CPUTarget kLevels[] = {{"x86-64-v2", "x86-64-v2", 16, 128},
                                    {"x86-64-v3", "x86-64-v3", 16, 256},
                                    {"x86-64-v4", "x86-64-v4", 32, 512}};

static llvm::CodeGenOptLevel getCodeGenLevel(unsigned optLevel) {
  return static_cast<llvm::CodeGenOptLevel>(std::min(optLevel, 3u));
}

std::unique_ptr<llvm::TargetMachine> bppsa::createCPUMachine(StringRef cpu, unsigned optLevel,
                                                             std::string &error) {
  static const bool initialized = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.UseInitArray = true; // lld ignores .ctors.
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, cpu, /*Features=*/"", options, llvm::Reloc::PIC_,
                                  /*CM=*/std::nullopt, getCodeGenLevel(optLevel)));
}

/// Returns a target machine for a CPU name from the user or LLVM.
static std::unique_ptr<llvm::TargetMachine> findMachine(StringRef cpu, std::string &error) {
  // Creating a machine for an unknown CPU prints warnings, so query the baseline.
  std::unique_ptr<llvm::TargetMachine> machine = createCPUMachine(kLevels[0].cpu, 2, error);
  if (!machine)
    return nullptr;
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    error = "unknown CPU '" + cpu.str() +
            "' for --mcpu; use native, x86-64-v2, x86-64-v3, x86-64-v4 "
            "or a CPU name of LLVM";
    return nullptr;
  }
  return createCPUMachine(cpu, 2, error);
}

static FailureOr<CPUTarget> selectNamedTarget(StringRef cpu, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = findMachine(cpu, error);
  if (!machine)
    return failure();
  const llvm::MCSubtargetInfo &info = *machine->getMCSubtargetInfo();
  unsigned level = info.checkFeatures("+avx512f,+avx512vl") ? 2
                   : info.checkFeatures("+avx2")            ? 1
                                                            : 0;
  CPUTarget target = kLevels[level];
  target.cpu = cpu;
  return target;
}

/// Returns true if `features` include the AVX features of `cpu`. Programs do not use others, so
/// these may be missing.
static bool hasVectorsOf(StringRef cpu, const llvm::StringMap<bool> &features) {
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine = createCPUMachine(cpu, 2, error);
  return machine && llvm::all_of(features, [&](const auto &feature) {
           return feature.second || !feature.first().starts_with("avx") ||
                  !machine->getMCSubtargetInfo()->checkFeatures(("+" + feature.first()).str());
         });
}

FailureOr<CPUTarget> bppsa::selectHostTarget(StringRef cpu, const llvm::StringMap<bool> &features,
                                             std::string &error) {
  FailureOr<CPUTarget> named = selectNamedTarget(cpu, error);
  if (failed(named) || hasVectorsOf(cpu, features))
    return named;
  for (const CPUTarget &level : llvm::reverse(kLevels))
    if (hasVectorsOf(level.cpu, features))
      return level;
  return kLevels[0];
}

FailureOr<SmallVector<CPUTarget>> bppsa::selectCPUTargets(StringRef mcpu, std::string &error) {
  if (mcpu.empty())
    return SmallVector<CPUTarget>(std::begin(kLevels), std::end(kLevels));
  FailureOr<CPUTarget> target =
      mcpu == "native"
          ? selectHostTarget(llvm::sys::getHostCPUName(), llvm::sys::getHostCPUFeatures(), error)
          : selectNamedTarget(mcpu, error);
  if (failed(target))
    return failure();
  return SmallVector<CPUTarget>{*target};
}
