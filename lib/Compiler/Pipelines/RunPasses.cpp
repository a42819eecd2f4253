//===- RunPasses.cpp - runs pipelines, and what to do when they crash -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// MLIR's own reproducers run a pipeline on a thread of its own. A pipeline that a worker of the
// context's thread pool runs would wait there for the workers, one of which waits for it.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/RunPasses.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include <mutex>

using namespace mlir;
using namespace bppsa;

bool bppsa::verifiesEachPass() {
  if (std::optional<std::string> wanted = llvm::sys::Process::GetEnv("BPPSA_VERIFY_EACH"))
    return *wanted == "1";
#ifdef NDEBUG
  return false;
#else
  return true;
#endif
}

namespace {
/// A pipeline that runs, with the module as it was before.
struct RunningPipeline {
  RunningPipeline(PassManager &pm, ModuleOp module, bool verifyEach);
  ~RunningPipeline();
  void writeReproducer() const;

  PassManager &pm;
  OwningOpRef<ModuleOp> before;
  bool verifyEach;
  /// That of the same thread around it.
  RunningPipeline *outer;
};

struct RunningPipelines {
  std::mutex mutex;
  llvm::SetVector<RunningPipeline *> pipelines;
};
} // namespace

static RunningPipelines &getRunning() {
  static RunningPipelines running;
  return running;
}

/// The pipeline that runs on this thread; null for a worker that helps another thread.
static thread_local RunningPipeline *current = nullptr;

static void writeReproducers(void *) {
  if (current)
    return current->writeReproducer();
  RunningPipelines &running = getRunning();
  std::unique_lock lock(running.mutex, std::try_to_lock);
  if (lock)
    for (RunningPipeline *pipeline : running.pipelines)
      pipeline->writeReproducer();
}

RunningPipeline::RunningPipeline(PassManager &pm, ModuleOp module, bool verifyEach)
    : pm(pm), before(module.clone()), verifyEach(verifyEach), outer(current) {
  [[maybe_unused]] static bool registered =
      (llvm::sys::AddSignalHandler(writeReproducers, nullptr), true);
  RunningPipelines &running = getRunning();
  std::lock_guard lock(running.mutex);
  running.pipelines.insert(this);
  current = this;
}

RunningPipeline::~RunningPipeline() {
  RunningPipelines &running = getRunning();
  std::lock_guard lock(running.mutex);
  running.pipelines.remove(this);
  current = outer;
}

/// Takes no part in what other threads do: they may wait for this one.
void RunningPipeline::writeReproducer() const {
  int descriptor = -1;
  SmallString<128> path;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("bppsa-reproducer", "mlir", descriptor, path)) {
    llvm::errs() << "no reproducer: " << code.message() << "\n";
    return;
  }
  AsmState state(*before, OpPrintingFlags().assumeVerified());
  state.attachResourcePrinter("mlir_reproducer", [&](Operation *, AsmResourceBuilder &builder) {
    std::string pipeline;
    llvm::raw_string_ostream stream(pipeline);
    pm.printAsTextualPipeline(stream);
    builder.buildString("pipeline", pipeline);
    builder.buildBool("disable_threading", false);
    builder.buildBool("verify_each", verifyEach);
  });
  llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
  ModuleOp(*before).print(file, state);
  llvm::errs() << "reproducer generated at `" << path << "`\n";
}

LogicalResult bppsa::runPasses(PassManager &pm, ModuleOp module, bool verifyEach,
                               bool leaveReproducer) {
  pm.enableVerifier(verifyEach);
  std::optional<RunningPipeline> running;
  if (leaveReproducer)
    running.emplace(pm, module, verifyEach);
  return pm.run(module);
}
