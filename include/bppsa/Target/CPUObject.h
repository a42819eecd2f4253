//===- CPUObject.h - LLVM modules and objects for the CPU -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_CPUOBJECT_H
#define BPPSA_TARGET_CPUOBJECT_H

#include "bppsa/Target/ModelDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace bppsa {

/// An instruction set that a program holds code for.
struct CPUTarget {
  /// Level in the function table: `x86-64-v2`, `x86-64-v3` or `x86-64-v4`.
  std::string isa;
  /// LLVM CPU name to generate code for.
  std::string cpu;
  /// Vector registers of the widest kind and their width in bits.
  int64_t registers;
  int64_t vectorBits;
};

/// The targets of one program: every x86-64 level from v2, or the one that
/// `mcpu` (an LLVM CPU name or `native`) belongs to. Fails for an unknown name.
mlir::FailureOr<llvm::SmallVector<CPUTarget>> selectCPUTargets(llvm::StringRef mcpu,
                                                               std::string &error);

/// Symbol of the table entry of `function` for `target`.
std::string getEntrySymbol(const CPUTarget &target, llvm::StringRef function);

/// Translates `module` (LLVM dialect), adds one entry `void (void **args)` for
/// each exported function, hides everything else, and optimises at `optLevel`.
std::unique_ptr<llvm::Module> translateForCPU(mlir::ModuleOp module, llvm::LLVMContext &context,
                                              const CPUTarget &target,
                                              llvm::ArrayRef<ExportedFunction> functions,
                                              unsigned optLevel);

/// Builds the module with the model's JSON, its ONNX bytes and the function table.
std::unique_ptr<llvm::Module> buildTableModule(llvm::LLVMContext &context, llvm::StringRef json,
                                               llvm::ArrayRef<char> onnx,
                                               llvm::ArrayRef<CPUTarget> targets,
                                               llvm::ArrayRef<ExportedFunction> functions);

/// Emits `module` as an object, or as assembly, into `path`.
mlir::LogicalResult emitCPUCode(llvm::Module &module, llvm::StringRef cpu, unsigned optLevel,
                                bool assembly, llvm::StringRef path, std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_CPUOBJECT_H
