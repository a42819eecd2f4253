//===- EmulationParts.h - the steps of retargeting for emulation *- C++ -*-===//
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

/// NVPTX address spaces.
enum AddressSpace : unsigned { Generic = 0, Shared = 3 };

/// Names the places of instructions: `node 'x' (GRU), barrier 2 of kernel`. The number tells apart
/// what has one source, such as two barriers.
class Sites {
public:
  llvm::Constant *get(llvm::Instruction &instruction, llvm::StringRef kind);

private:
  llvm::DenseMap<llvm::Function *, llvm::StringMap<unsigned>> counts;
};

/// Calls of functions of the run time.
class RuntimeCalls {
public:
  explicit RuntimeCalls(llvm::Module &calledFrom) : module(calledFrom) {}

  /// `pure`: the result depends on nothing but the arguments and the running thread.
  llvm::CallInst *call(llvm::IRBuilder<> &builder, llvm::StringRef name, llvm::Type *result,
                       llvm::ArrayRef<llvm::Value *> arguments, bool pure = false);

private:
  llvm::Module &module;
};

/// Announces every access through a pointer to anything but a variable of the thread.
llvm::LogicalResult announceAccesses(llvm::Module &module, Sites &sites, std::string &error);

/// Replaces NVVM intrinsics, inline assembly and device functions by what runs on the CPU.
llvm::LogicalResult replaceCalls(llvm::Module &module, Sites &sites, std::string &error);

/// Where in the shared memory of a kernel its static arrays are.
struct SharedArray {
  uint64_t offset, bytes;
};
struct SharedLayout {
  llvm::SmallVector<SharedArray> arrays;
  /// Without the gaps between arrays that the emulator has and a GPU does not.
  uint64_t sharedBytes = 0;
};

/// Replaces shared globals by places in the shared memory of the block, and says which of `kernels`
/// has which.
llvm::FailureOr<llvm::MapVector<llvm::Function *, SharedLayout>>
placeSharedArrays(llvm::Module &module, llvm::ArrayRef<llvm::Function *> kernels,
                  std::string &error);

} // namespace bppsa::emulation

#endif // BPPSA_LIB_TARGET_EMULATION_EMULATIONPARTS_H
