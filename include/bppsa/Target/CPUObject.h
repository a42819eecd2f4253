//===- CPUObject.h - LLVM modules and CPU objects ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_CPUOBJECT_H
#define BPPSA_TARGET_CPUOBJECT_H

#include "bppsa/Target/CPUTargets.h"
#include "bppsa/Target/ModelDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace bppsa {

std::string getEntrySymbol(llvm::StringRef function);

std::string getArenaEntrySymbol(llvm::StringRef function);

std::string getResidualsEntrySymbol(llvm::StringRef function);

std::string getKernelSymbol(const CPUTarget &target, llvm::StringRef kernel);

enum class CodePasses {
  None,
  /// For functions that run once per call of the program.
  Host,
  Kernels
};

/// Translates the host functions in `module` and runs `passes`. Each exported function gets an
/// entry point `void (void **args)` and functions `int64_t (const int64_t *symbols)` for the sizes
/// of its arena and residuals. Calls of `kernels` use the table that the run time selects.
std::unique_ptr<llvm::Module> translateHost(mlir::ModuleOp module, llvm::LLVMContext &context,
                                            const CPUTarget &target,
                                            llvm::ArrayRef<ExportedFunction> functions,
                                            llvm::ArrayRef<std::string> kernels, CodePasses passes);

/// Translates `kernels`, renames them for `target`, and runs `passes`.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp module, llvm::LLVMContext &context,
                                               const CPUTarget &target,
                                               llvm::ArrayRef<std::string> kernels,
                                               CodePasses passes);

/// Builds a module with the JSON description, the ONNX bytes, the function table, and one kernel
/// table per target.
std::unique_ptr<llvm::Module> buildTableModule(llvm::LLVMContext &context, llvm::StringRef json,
                                               llvm::ArrayRef<char> onnx,
                                               llvm::ArrayRef<CPUTarget> targets,
                                               llvm::ArrayRef<ExportedFunction> functions,
                                               llvm::ArrayRef<std::string> kernels);

/// Optimises `module` for `cpu`, even if it was translated for another target. Exported symbols are
/// kept.
mlir::LogicalResult optimizeForCPU(llvm::Module &module, llvm::StringRef cpu, unsigned optLevel,
                                   std::string &error);

/// Returns the code of `module` as an object or as assembly.
mlir::FailureOr<std::string> emitCPUCode(llvm::Module &module, llvm::StringRef cpu,
                                         unsigned optLevel, bool assembly, std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_CPUOBJECT_H
