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

/// Freed on exhaustion, so that temporary files can be removed.
static void *reserve = nullptr;

/// Only one thread ends the process.
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
  // Other threads are running, so run no destructors.
  _exit(1);
}

#if defined(__GLIBC__) && !LLVM_ADDRESS_SANITIZER_BUILD
// MLIR uses results of malloc unchecked. These definitions replace the C library's in all
// libraries.
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

/// LLVM then aborts for a bug and otherwise, as for a full standard output, exits with status 1.
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
