//===- CPUTargets.h - instruction sets of programs --------------*- C++ -*-===//
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

/// An instruction set that a program holds code for.
struct CPUTarget {
  /// Level in the program's table: `x86-64-v2`, `x86-64-v3` or `x86-64-v4`.
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

/// The target for a machine whose processor LLVM calls `cpu`, with what it says of its `features`.
/// Hypervisors hide instructions that processors of this name have: without vectors that `cpu`
/// implies, it is the highest x86-64 level that `features` leave. Fails for an unknown name.
mlir::FailureOr<CPUTarget>
selectHostTarget(llvm::StringRef cpu, const llvm::StringMap<bool> &features, std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_CPUTARGETS_H
