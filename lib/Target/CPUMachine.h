//===- CPUMachine.h - LLVM target machine for CPUs --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_TARGET_CPUMACHINE_H
#define BPPSA_LIB_TARGET_CPUMACHINE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <string>

namespace bppsa {

/// Creates a target machine for `cpu` with the host's triple. Returns null and sets `error` if LLVM
/// was built without the target.
std::unique_ptr<llvm::TargetMachine> createCPUMachine(llvm::StringRef cpu, unsigned optLevel,
                                                      std::string &error);

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_CPUMACHINE_H
