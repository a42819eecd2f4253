//===- CompileOptions.h - options of the compiler ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_COMPILEOPTIONS_H
#define BPPSA_COMPILER_COMPILEOPTIONS_H

#include "bppsa/Compiler/Pipelines/TrainingOptions.h"
#include <functional>
#include <optional>

namespace mlir {
class PassManager;
} // namespace mlir

namespace bppsa {

enum class EmitKind { Executable, Shared, Object, MLIR, LLVM, Assembly, PTX, Report, Initializers };

/// The phases of a compilation, in order. A compilation can stop after any of them.
enum class Phase { Import, Loss, Differentiate, Scan, Lower, End };

/// The part of the compilation that is about to begin.
struct CompileProgress {
  /// "import", "loss", "differentiate", "scan", "kernels", "code" or "link".
  const char *phase;
  /// Number of parts begun before this one, and number of known parts. The parts of `code` are
  /// added when it begins.
  int64_t done, total;
};

/// The options of `bppsa-compile`; docs/Reference/CommandLine.md defines meanings and defaults.
struct CompileOptions {
  TrainingOptions training;
  EmitKind emit = EmitKind::Executable;
  /// `--compile-to`: if earlier than `End`, the output is the IR after this phase, regardless of
  /// `emit`.
  Phase stopAfter = Phase::End;
  /// `--dump-phases-to`: a directory for the IR after every phase; empty for none.
  std::string dumpDirectory;
  /// An LLVM CPU name or `native`; empty for every x86-64 level.
  std::string mcpu;
  /// `--gpu-arch`: target architectures; empty for sm_90. CUDA only.
  std::vector<std::string> gpuArchitectures;
  /// True if a GPU program runs its kernels on the CPU.
  bool emulate = false;
  /// `--distributed`: transport between the processes that train together; empty for one process.
  std::string distributed;
  /// `--batch-axis`: each is `NAME:AXIS`.
  std::vector<std::string> batchAxes;
  /// `--carry`: each is `IN:OUT`. If not empty, the model is one step of a stream.
  std::vector<std::string> carries;
  /// `--dynamic`: each is `NAME:AXIS`, an axis of a graph input whose size the exporter fixed.
  std::vector<std::string> dynamicAxes;
  /// `--step-axis`: each is `NAME:AXIS`.
  std::vector<std::string> stepAxes;
  /// `--bind`: each is `NAME=VALUE[,VALUE...]`.
  std::vector<std::string> bindings;
  /// `--untie`: gives each use of an initializer its own copy. Empty for the initializers that an
  /// exporter seems to have merged, or a regular expression over initializer names.
  std::optional<std::string> untie;
  /// `--training-mode`: BatchNormalization and Dropout nodes that use training behaviour during
  /// training. Empty for all, or a regular expression over node names.
  std::optional<std::string> trainingMode;
  /// `--freeze-rows`: each is `NAME:ROW`, a row of a trained initializer that is not trained.
  std::vector<std::string> freezeRows;
  /// `--train`: a regular expression over names of initializers to train even though they look like
  /// constants of an exporter; empty for none.
  std::string train;
  /// `--class-weights`: the .npy file from which `readOptionFiles` reads `training.classWeights`;
  /// empty for none.
  std::string classWeightsFile;
  /// 0 to 3.
  unsigned optLevel = 3;
  /// True if zero elements of initializers remain zero and are removed from the sparsity patterns.
  bool pruneZeros = false;
  /// True if target-independent IR is printed with locations.
  bool printLocations = false;
  /// Values of dynamic sizes in a report.
  int64_t reportLength = 1000, reportBatch = 16;
  /// Path of the archive `libbppsa_runtime.a`, with which executables and shared libraries are
  /// linked. Its directory also contains `libbppsa_emulator.a`, for emulated programs, and
  /// `libbppsa_mpi.a`, for `--distributed=mpi`.
  std::string runtimeLibrary;
  /// True if the verifier runs after every pass, not only after every phase.
  bool verifyEach = false;
  /// True if a crash in a pass writes a reproducer. This installs LLVM signal handlers, so it is
  /// for stand-alone compilers.
  bool leaveReproducers = false;
  /// Called with every pass manager before passes are added, possibly from several threads at once:
  /// for MLIR flags and instrumentations. The compilation fails if it returns false.
  std::function<bool(mlir::PassManager &)> preparePassManager;
  /// Called at the begin of each part of the compilation, for one part at a time, but from any
  /// thread. The compilation is cancelled with an error if it returns false.
  std::function<bool(const CompileProgress &)> progress;
};

/// Returns one message per invalid option: its command-line name, the accepted values, and the
/// actual value. Does not check properties that depend on the model.
std::vector<std::string> validate(const CompileOptions &options);

} // namespace bppsa

#endif // BPPSA_COMPILER_COMPILEOPTIONS_H
