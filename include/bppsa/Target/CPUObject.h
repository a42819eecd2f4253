//===- CPUObject.h - LLVM modules and objects for the CPU -------*- C++ -*-===//
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

/// Symbol of the entry of the exported function `function`.
std::string getEntrySymbol(llvm::StringRef function);

/// Symbol of the function that computes the size of the arena of `function`.
std::string getArenaEntrySymbol(llvm::StringRef function);

/// Symbol of the function that computes the bytes of the residuals of `function`.
std::string getResidualsEntrySymbol(llvm::StringRef function);

/// Symbol of `kernel` for `target`.
std::string getKernelSymbol(const CPUTarget &target, llvm::StringRef kernel);

/// What is done to code before its instructions are selected.
enum class CodePasses {
  None,
  /// For functions that run once in a call of the program.
  Host,
  /// For loops.
  Kernels
};

/// Translates the host functions in `module` (LLVM dialect), adds one entry
/// `void (void **args)` for each exported function and `int64_t (const int64_t *symbols)`
/// for the sizes of its arena and of its residuals, lets calls of `kernels` go through the table
/// that the run time selects, and runs `passes`. Without `kernels` the module is a whole program,
/// whose calls stay direct.
std::unique_ptr<llvm::Module> translateHost(mlir::ModuleOp module, llvm::LLVMContext &context,
                                            const CPUTarget &target,
                                            llvm::ArrayRef<ExportedFunction> functions,
                                            llvm::ArrayRef<std::string> kernels, CodePasses passes);

/// Translates those of `kernels` that `module` (LLVM dialect) defines, gives them
/// names of `target`, and runs `passes`.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp module, llvm::LLVMContext &context,
                                               const CPUTarget &target,
                                               llvm::ArrayRef<std::string> kernels,
                                               CodePasses passes);

/// Builds the module with the model's JSON, its ONNX bytes, the table of functions
/// and for each target the table of kernels.
std::unique_ptr<llvm::Module> buildTableModule(llvm::LLVMContext &context, llvm::StringRef json,
                                               llvm::ArrayRef<char> onnx,
                                               llvm::ArrayRef<CPUTarget> targets,
                                               llvm::ArrayRef<ExportedFunction> functions,
                                               llvm::ArrayRef<std::string> kernels);

/// Optimises `module`, whatever it was made from, for `cpu`. What it exports stays.
mlir::LogicalResult optimizeForCPU(llvm::Module &module, llvm::StringRef cpu, unsigned optLevel,
                                   std::string &error);

/// The bytes of an object, or of assembly, with the code of `module`.
mlir::FailureOr<std::string> emitCPUCode(llvm::Module &module, llvm::StringRef cpu,
                                         unsigned optLevel, bool assembly, std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_CPUOBJECT_H
