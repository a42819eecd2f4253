//===- OutOfMemory.cpp - reports exhausted memory -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OutOfMemory.h"
#include "bppsa/Support/TemporaryPath.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cstdlib>
#include <unistd.h>
#include <utility>

/// Freed when memory is exhausted, so that temporary files can be removed.
static void *reserve = nullptr;

/// If several threads run out of memory at the same time, one of them ends the process.
[[noreturn]] static void endProcess() {
  static std::atomic_flag ends = ATOMIC_FLAG_INIT;
  static thread_local bool isEnding = false;
  if (std::exchange(isEnding, true))
    _exit(1);
  while (ends.test_and_set())
    pause();
  free(reserve);
  constexpr llvm::StringLiteral kLine =
      "bppsa-compile: error: out of memory; allow the process more (ulimit -v), or compile with "
      "--mlir-disable-threading, which needs less\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
  bppsa::removeTemporaryPaths();
  // Other threads are still running, so no destructors may run.
  _exit(1);
}

#if defined(__GLIBC__) && !LLVM_ADDRESS_SANITIZER_BUILD
// MLIR allocates interface tables with malloc and uses them unchecked. These definitions in the
// executable replace the functions of the C library in all libraries.
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size) noexcept {
  void *block = __libc_malloc(size);
  return block ? block : (endProcess(), nullptr);
}

void *calloc(size_t count, size_t size) noexcept {
  void *block = __libc_calloc(count, size);
  return block ? block : (endProcess(), nullptr);
}

void *realloc(void *block, size_t size) noexcept {
  void *moved = __libc_realloc(block, size);
  return moved || size == 0 ? moved : (endProcess(), nullptr);
}
}
#endif

static void handleBadAlloc(void *, const char *, bool) { endProcess(); }

/// Prints other fatal errors. LLVM then aborts if the error is a bug and exits with status 1
/// otherwise, for example if the standard output is full.
static void endAfterFatalError(void *, const char *reason, bool isBug) {
  if (llvm::StringRef(reason).starts_with("pthread_create failed"))
    endProcess();
  llvm::errs() << (isBug ? "LLVM ERROR: " : "bppsa-compile: error: ") << reason << "\n";
}

void bppsa::reportOutOfMemory() {
  constexpr size_t kReserveBytes = 256 << 10;
  reserve = malloc(kReserveBytes);
  llvm::install_bad_alloc_error_handler(handleBadAlloc);
  llvm::install_fatal_error_handler(endAfterFatalError);
}
