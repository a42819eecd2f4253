//===- CPUTargets.h - CPU instruction sets of programs ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_CPUTARGETS_H
#define BPPSA_TARGET_CPUTARGETS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace bppsa {

/// An instruction set for which a program contains code.
struct CPUTarget {
  /// Level in the program's table: `x86-64-v2`, `x86-64-v3` or `x86-64-v4`.
  std::string isa;
  /// LLVM CPU name for code generation.
  std::string cpu;
  /// Number of the widest vector registers, and their width in bits.
  int64_t registers;
  int64_t vectorBits;
};

/// Returns the targets of a program: every x86-64 level from v2, or the level of `mcpu` (an LLVM
/// CPU name or `native`). Fails for an unknown name.
mlir::FailureOr<llvm::SmallVector<CPUTarget>> selectCPUTargets(llvm::StringRef mcpu,
                                                               std::string &error);

/// Returns the target for the host. Hypervisors may hide instructions: if vector features implied
/// by `cpu` are missing, the target is the highest x86-64 level that `features` support.
mlir::FailureOr<CPUTarget>
selectHostTarget(llvm::StringRef cpu, const llvm::StringMap<bool> &features, std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_CPUTARGETS_H
