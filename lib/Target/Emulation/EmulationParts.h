//===- EmulationParts.h - stages of retargeting -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_TARGET_EMULATION_EMULATIONPARTS_H
#define BPPSA_LIB_TARGET_EMULATION_EMULATIONPARTS_H

#include "bppsa/Target/Emulation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"

namespace bppsa::emulation {

enum AddressSpace : unsigned { Generic = 0, Shared = 3 };

/// The number distinguishes instructions with the same source.
class Sites {
public:
  llvm::Constant *get(llvm::Instruction &instruction, llvm::StringRef kind);

private:
  llvm::DenseMap<llvm::Function *, llvm::StringMap<unsigned>> counts;
};

class RuntimeCalls {
public:
  explicit RuntimeCalls(llvm::Module &calledFrom) : module(calledFrom) {}

  /// `pure`: the result depends only on the arguments and the thread.
  llvm::CallInst *call(llvm::IRBuilder<> &builder, llvm::StringRef name, llvm::Type *result,
                       llvm::ArrayRef<llvm::Value *> arguments, bool pure = false);

private:
  llvm::Module &module;
};

/// Reports every memory access to the emulator, except to variables of the thread.
llvm::LogicalResult announceAccesses(llvm::Module &module, Sites &sites, std::string &error);

llvm::LogicalResult replaceCalls(llvm::Module &module, Sites &sites, std::string &error);

struct SharedArray {
  uint64_t offset, bytes;
};
struct SharedLayout {
  llvm::SmallVector<SharedArray> arrays;
  /// Size without the gaps between arrays, which exist only in the emulator.
  uint64_t sharedBytes = 0;
};

/// Replaces shared globals with addresses in the block's shared memory.
llvm::FailureOr<llvm::MapVector<llvm::Function *, SharedLayout>>
placeSharedArrays(llvm::Module &module, llvm::ArrayRef<llvm::Function *> kernels,
                  std::string &error);

} // namespace bppsa::emulation

#endif // BPPSA_LIB_TARGET_EMULATION_EMULATIONPARTS_H
