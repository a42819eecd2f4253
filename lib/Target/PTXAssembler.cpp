//===- PTXAssembler.cpp - assemble PTX with ptxas -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/OutputFile.h"
#include "bppsa/Support/TemporaryPath.h"
#include "bppsa/Target/GPUObject.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace bppsa;

static std::string findAssembler() {
  SmallVector<std::string> roots;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> value = llvm::sys::Process::GetEnv(variable))
      roots.push_back(*value);
  roots.push_back("/usr/local/cuda");
  for (StringRef root : roots) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  return "";
}

static std::string readFile(StringRef path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  return text ? (*text)->getBuffer().str() : "";
}

FailureOr<std::string> bppsa::assemblePTX(StringRef ptx, StringRef arch, std::string &log,
                                          std::string &error) {
  std::string assembler = findAssembler();
  if (assembler.empty())
    return std::string();
  llvm::SmallString<64> source, object, messages;
  for (auto [path, suffix] : {std::pair(&source, "ptx"), {&object, "cubin"}, {&messages, "log"}})
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("bppsa-ptx", suffix, *path)) {
      error = "cannot create a temporary file: " + code.message();
      return failure();
    }
  TemporaryPath removeSource(source), removeObject(object), removeMessages(messages);
  if (llvm::Error failed = writeFile(source, [&](llvm::raw_ostream &os) { os << ptx; })) {
    error = llvm::toString(std::move(failed));
    return failure();
  }
  std::string option = "-arch=" + arch.str();
  StringRef arguments[] = {assembler, option, "-v", "-O3", source, "-o", object};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messages), StringRef(messages)};
  int status = llvm::sys::ExecuteAndWait(assembler, arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &error);
  log = readFile(messages);
  if (status != 0) {
    error = assembler + " cannot assemble for " + arch.str() + ": " +
            (error.empty() ? StringRef(log).split('\n').first.str() : error);
    return failure();
  }
  return readFile(object);
}
