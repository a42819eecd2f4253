//===- Link.cpp - programs and libraries from objects ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/Link.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace bppsa;

/// The first of the known compiler drivers on the PATH.
static FailureOr<std::string> findLinkDriver(std::string &error) {
  for (const char *name : {"clang++-22", "clang++", "c++", "g++"})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  error = "no linker was found: clang++-22, clang++, c++ or g++ must be on the PATH; install "
          "clang-22 and lld-22, or use --emit=obj";
  return failure();
}

/// Runs `arguments`; a failure's message is the first line that it printed.
static LogicalResult runLinker(ArrayRef<StringRef> arguments, std::string &error) {
  llvm::SmallString<64> log;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("bppsa-link", "log", log)) {
    error = "cannot create a temporary file: " + code.message();
    return failure();
  }
  llvm::FileRemover removeLog(log);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log), StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(arguments[0], arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &error);
  if (status == 0)
    return success();
  if (auto text = llvm::MemoryBuffer::getFile(log))
    error = (*text)->getBuffer().split('\n').first.str();
  error = "linking with " + arguments[0].str() + " failed: " + error;
  return failure();
}

LogicalResult bppsa::linkProgram(LinkKind kind, ArrayRef<std::string> objects, StringRef output,
                                 StringRef compilerPath, std::string &error) {
  FailureOr<std::string> driver = findLinkDriver(error);
  if (failed(driver))
    return failure();
  llvm::SmallString<128> runtime(llvm::sys::path::parent_path(compilerPath));
  llvm::sys::path::append(runtime, "..", "lib", "libbppsa_runtime.a");
  if (kind != LinkKind::Relocatable && !llvm::sys::fs::exists(runtime)) {
    error = "the run-time library is missing: " + runtime.str().str() +
            "; build the project again or use --emit=obj";
    return failure();
  }

  SmallVector<StringRef> arguments = {*driver};
  if (StringRef(*driver).contains("clang"))
    arguments.push_back("-fuse-ld=lld");
  arguments.append(objects.begin(), objects.end());
  if (kind == LinkKind::Relocatable) {
    arguments.append({"-r", "-nostdlib"});
  } else {
    if (kind == LinkKind::Shared)
      arguments.append({"-shared", "-Wl,--whole-archive", runtime, "-Wl,--no-whole-archive"});
    else
      arguments.push_back(runtime);
    // A program depends on nothing but the C library.  The static zlib and minizip are not
    // position-independent, so a shared library needs the shared ones.
    bool isStatic = kind == LinkKind::Executable;
    arguments.append({"-static-libstdc++", "-static-libgcc",
                      isStatic ? "-Wl,-Bstatic" : "-Wl,-Bdynamic", "-lminizip", "-lz",
                      "-Wl,-Bdynamic", "-lpthread", "-lm", "-Wl,--gc-sections"});
  }
  arguments.append({"-o", output});
  return runLinker(arguments, error);
}
