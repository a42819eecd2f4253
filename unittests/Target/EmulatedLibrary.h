//===- EmulatedLibrary.h - device modules compiled and loaded ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_TARGET_EMULATEDLIBRARY_H
#define BPPSA_UNITTESTS_TARGET_EMULATEDLIBRARY_H

#include "bppsa/Emulator/Emulator.h"
#include "bppsa/Support/OutputFile.h"
#include "bppsa/Target/CPUObject.h"
#include "bppsa/Target/Emulation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"
#include "gtest/gtest.h"

#include <dlfcn.h>
#include <map>
#include <vector>

namespace bppsa {

/// Compiles `module` for a common CPU to a shared library and loads it. The library finds undefined
/// symbols in this program. It is never closed, because the emulator knows its variables.
inline void *loadLibrary(llvm::Module &module, unsigned optLevel) {
  std::string error;
  llvm::SmallString<64> object, library;
  llvm::sys::fs::createTemporaryFile("emulated", "o", object);
  llvm::sys::fs::createTemporaryFile("emulated", "so", library);
  llvm::FileRemover removeObject(object), removeLibrary(library);
  const char *cpu = "x86-64-v2";
  if (failed(optimizeForCPU(module, cpu, optLevel, error)))
    ADD_FAILURE() << error;
  auto code = emitCPUCode(module, cpu, optLevel, /*assembly=*/false, error);
  llvm::cantFail(writeFile(object, [&](llvm::raw_ostream &os) { os << *code; }));
  auto driver = llvm::sys::findProgramByName("clang++-22");
  llvm::StringRef arguments[] = {*driver, "-shared", object, "-o", library};
  EXPECT_EQ(llvm::sys::ExecuteAndWait(*driver, arguments), 0);
  void *handle = dlopen(library.c_str(), RTLD_NOW);
  EXPECT_TRUE(handle) << dlerror();
  return handle;
}

class EmulatedLibrary {
public:
  EmulatedLibrary(llvm::Module &module, unsigned optLevel) {
    std::string error;
    auto kernels = retargetForEmulation(module, error);
    EXPECT_EQ(error, "");
    for (const EmulatedKernel &kernel : *kernels)
      module.getFunction(kernel.symbol)->setVisibility(llvm::GlobalValue::DefaultVisibility);
    void *handle = loadLibrary(module, optLevel);
    for (const EmulatedKernel &kernel : *kernels)
      symbols[kernel.name] =
          reinterpret_cast<runtime::KernelBody>(dlsym(handle, kernel.symbol.c_str()));
  }

  void launch(runtime::Emulator &emulator, const std::string &name, uint32_t grid, uint32_t block,
              std::vector<void *> arguments) {
    launch(emulator, name, grid, block, arguments.data(), /*cooperative=*/false);
  }
  void launch(runtime::Emulator &emulator, const std::string &name, uint32_t grid, uint32_t block,
              void **arguments, bool cooperative) {
    emulator.launch(name, symbols.at(name), {grid}, {block}, arguments, /*sharedBytes=*/0,
                    cooperative);
  }

private:
  std::map<std::string, runtime::KernelBody> symbols;
};

} // namespace bppsa

#endif // BPPSA_UNITTESTS_TARGET_EMULATEDLIBRARY_H
