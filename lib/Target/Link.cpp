//===- Link.cpp - link programs and libraries -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/Link.h"
#include "bppsa/Support/OutputFile.h"
#include "bppsa/Support/TemporaryPath.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace bppsa;

static FailureOr<std::string> findLinkDriver(std::string &error) {
  for (const char *name : {"clang++-22", "clang++", "c++", "g++"})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  error = "no linker was found: clang++-22, clang++, c++ or g++ must be on the PATH; install "
          "clang-22 and lld-22, or use --emit=obj";
  return failure();
}

bool bppsa::hasLinker() {
  std::string error;
  return succeeded(findLinkDriver(error));
}

static FailureOr<std::string> readFile(StringRef path, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (buffer)
    return (*buffer)->getBuffer().str();
  error = "cannot read " + path.str() + ": " + buffer.getError().message();
  return failure();
}

static StringRef findReason(StringRef log) {
  auto isError = [](StringRef line) { return line.contains("error:"); };
  SmallVector<StringRef> lines;
  log.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  auto found = llvm::find_if(lines, isError);
  return found != lines.end() ? *found : lines.empty() ? StringRef() : lines.front();
}

static LogicalResult runLinker(ArrayRef<StringRef> arguments, StringRef log, std::string &error) {
  std::optional<StringRef> redirects[] = {StringRef(), log, log};
  int status = llvm::sys::ExecuteAndWait(arguments[0], arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &error);
  if (status == 0)
    return success();
  std::string unread, reason = error;
  if (FailureOr<std::string> text = readFile(log, unread); succeeded(text) && !text->empty())
    reason = findReason(*text).str();
  error = "linking with " + arguments[0].str() +
          " failed: " + (reason.empty() ? "exit status " + std::to_string(status) : reason);
  return failure();
}

/// Version script: shared libraries export only the C API (bppsa-c/Program.h).
static constexpr const char *kExports = "{ global: bppsaGet*; bppsaProgram*; local: *; };\n";

/// Options of shared libraries: symbols of other libraries must not replace the program's
/// functions, and its threads may still run when it is closed.
static const char *const kSharedArguments[] = {"-shared", "-Wl,-Bsymbolic", "-Wl,-z,nodelete",
                                               "-Wl,-u,bppsaProgramOpen"};

/// Link options of sanitizer builds (cmake/Sanitizers.cmake), separated by spaces; the archives
/// need them.
static constexpr llvm::StringLiteral kSanitizerOptions(BPPSA_SANITIZER_LINK_OPTIONS);

static SmallVector<StringRef> getArguments(LinkKind kind, StringRef driver,
                                           ArrayRef<std::string> objects,
                                           ArrayRef<std::string> archives, StringRef exports,
                                           StringRef output) {
  SmallVector<StringRef> arguments = {driver};
  if (driver.contains("clang"))
    arguments.push_back("-fuse-ld=lld");
  arguments.append(objects.begin(), objects.end());
  if (kind == LinkKind::Relocatable) {
    arguments.append({"-r", "-nostdlib"});
  } else {
    if (kind == LinkKind::Shared) {
      llvm::append_range(arguments, kSharedArguments);
      arguments.append({"-Xlinker", "--version-script", "-Xlinker", exports});
    }
    kSanitizerOptions.split(arguments, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    arguments.push_back("-Wl,--whole-archive");
    arguments.append(archives.begin(), std::prev(archives.end()));
    arguments.append({"-Wl,--no-whole-archive", archives.back()});
    // The static zlib and minizip are not position-independent, so shared libraries use the shared
    // ones.
    bool isStatic = kind == LinkKind::Executable;
    arguments.append({"-static-libstdc++", "-static-libgcc",
                      isStatic ? "-Wl,-Bstatic" : "-Wl,-Bdynamic", "-lminizip", "-lz",
                      "-Wl,-Bdynamic", "-lpthread", "-lm", "-Wl,--gc-sections"});
  }
  arguments.append({"-o", output});
  return arguments;
}

/// Checks that `directory` has space for the output: lld maps its output and crashes if the disk is
/// full.
static LogicalResult checkSpace(LinkKind kind, ArrayRef<std::string> objects,
                                ArrayRef<std::string> archives, StringRef directory,
                                std::string &error) {
  // Size of the C++ library in a program.
  constexpr uint64_t libraryBytes = 4 << 20;
  uint64_t needed = kind == LinkKind::Relocatable ? 0 : libraryBytes;
  for (const std::string &object : objects)
    needed += object.size();
  for (const std::string &archive : archives)
    if (uint64_t bytes; !llvm::sys::fs::file_size(archive, bytes))
      needed += bytes;
  llvm::ErrorOr<llvm::sys::fs::space_info> space = llvm::sys::fs::disk_space(directory);
  if (!space || space->available >= needed)
    return success();
  error = "cannot link in " + directory.str() + ": No space left on device; up to " +
          std::to_string(needed) + " bytes are needed; set TMPDIR to another directory";
  return failure();
}

static FailureOr<SmallVector<std::string>>
writeObjects(ArrayRef<std::string> objects, const Twine &directory, std::string &error) {
  SmallVector<std::string> paths;
  for (const std::string &object : objects) {
    paths.push_back((directory + "/" + Twine(paths.size()) + ".o").str());
    if (llvm::Error failed = writeFile(paths.back(), [&](raw_ostream &os) { os << object; })) {
      error = llvm::toString(std::move(failed));
      return failure();
    }
  }
  return paths;
}

FailureOr<std::string> bppsa::linkProgram(LinkKind kind, ArrayRef<std::string> objects,
                                          ArrayRef<std::string> archives, std::string &error) {
  FailureOr<std::string> driver = findLinkDriver(error);
  if (failed(driver))
    return failure();
  for (const std::string &archive : archives) {
    if (llvm::sys::fs::exists(archive))
      continue;
    error = "the run-time library is missing: " + archive +
            "; build the project again or use --emit=obj";
    return failure();
  }
  llvm::SmallString<128> directory;
  if (std::error_code code = llvm::sys::fs::createUniqueDirectory("bppsa-compile", directory)) {
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, directory);
    error = "cannot create a directory in " + directory.str().str() + ": " + code.message();
    return failure();
  }
  TemporaryPath removeDirectory(directory);
  FailureOr<SmallVector<std::string>> paths = writeObjects(objects, directory, error);
  if (failed(paths))
    return failure();
  if (failed(checkSpace(kind, objects, archives, directory, error)))
    return failure();
  std::string output = (directory + "/output").str(), log = (directory + "/log").str();
  std::string exports = (directory + "/exports").str();
  if (llvm::Error failed = writeFile(exports, [](raw_ostream &os) { os << kExports; })) {
    error = llvm::toString(std::move(failed));
    return failure();
  }
  if (failed(runLinker(getArguments(kind, *driver, *paths, archives, exports, output), log, error)))
    return failure();
  return readFile(output, error);
}
