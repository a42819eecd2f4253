//===- CPUMachine.h - what LLVM generates code with -------------*- C++ -*-===//
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

/// A machine for `cpu` on this triple. Null, with `error` set, where LLVM was
/// built without the target.
std::unique_ptr<llvm::TargetMachine> createCPUMachine(llvm::StringRef cpu, unsigned optLevel,
                                                      std::string &error);

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_CPUMACHINE_H
