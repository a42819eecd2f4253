//===- RunPasses.cpp - run pass pipelines ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// MLIR's own reproducers run a pipeline on a separate thread, which deadlocks with a worker of the
// context's thread pool.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Pipelines/RunPasses.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
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
struct RunningPipeline {
  RunningPipeline(PassManager &pm, ModuleOp module, bool verifyEach);
  ~RunningPipeline();
  void writeReproducer() const;
  llvm::ErrorOr<std::string> write(StringRef error) const;

  PassManager &pm;
  OwningOpRef<ModuleOp> before;
  bool verifyEach;
  /// The enclosing pipeline on the same thread.
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

/// The pipeline running on this thread; null for a worker that helps another thread.
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

void RunningPipeline::writeReproducer() const {
  llvm::ErrorOr<std::string> path = write("");
  if (path)
    llvm::errs() << "reproducer generated at `" << *path << "`\n";
  else
    llvm::errs() << "no reproducer: " << path.getError().message() << "\n";
}

llvm::ErrorOr<std::string> RunningPipeline::write(StringRef error) const {
  int descriptor = -1;
  SmallString<128> path;
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("bppsa-reproducer", "mlir", descriptor, path))
    return code;
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
  for (StringRef line : llvm::split(error, '\n'))
    if (!line.empty())
      file << "// " << line << "\n";
  ModuleOp(*before).print(file, state);
  return std::string(path.str());
}

LogicalResult bppsa::runPasses(PassManager &pm, ModuleOp module, bool verifyEach,
                               bool leaveReproducer, bool verifyResult) {
  pm.enableVerifier(verifyEach);
  std::optional<RunningPipeline> running;
  if (leaveReproducer)
    running.emplace(pm, module, verifyEach);
  std::string bug;
  {
    BugCollector bugs(module.getContext());
    if (succeeded(pm.run(module)) && (!verifyResult || succeeded(verify(module))))
      return success();
    if (bugs.hasRefusals())
      return failure();
    llvm::ErrorOr<std::string> path("");
    if (running)
      path = running->write(bugs.getMessage());
    bug = bugs.describe(path ? *path : "");
  }
  return module.emitError() << bug;
}
