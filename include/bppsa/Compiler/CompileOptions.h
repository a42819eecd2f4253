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

struct CompileProgress {
  const char *phase;
  /// Number of parts begun before this one, and number of known parts. The parts of `code` are
  /// added when it begins.
  int64_t done, total;
};

/// docs/Reference/Compiler.md defines meanings and defaults.
struct CompileOptions {
  TrainingOptions training;
  EmitKind emit = EmitKind::Executable;
  /// If earlier than `End`, the output is the IR after this phase, regardless of `emit`.
  Phase stopAfter = Phase::End;
  /// `--dump-phases-to`: a directory for the IR after every phase; empty for none.
  std::string dumpDirectory;
  /// An LLVM CPU name or `native`; empty for every x86-64 level.
  std::string mcpu;
  std::vector<std::string> gpuArchitectures;
  /// True if a GPU program runs its kernels on the CPU.
  bool emulate = false;
  /// `--distributed`: transport between the processes that train together; empty for one process.
  std::string distributed;
  std::vector<std::string> batchAxes;
  /// If not empty, the model is one step of a stream; each entry is `IN:OUT`.
  std::vector<std::string> carries;
  /// `--dynamic`: each is `NAME:AXIS`, an axis of a graph input whose size the exporter fixed.
  std::vector<std::string> dynamicAxes;
  std::vector<std::string> stepAxes;
  std::vector<std::string> bindings;
  /// Empty for the initializers that an exporter seems to have merged, or a regular expression over
  /// names.
  std::optional<std::string> untie;
  /// Empty for all BatchNormalization and Dropout nodes, or a regular expression over node names.
  std::optional<std::string> trainingMode;
  std::vector<std::string> freezeRows;
  /// `--train`: a regular expression over names of initializers to train even though they look like
  /// constants of an exporter; empty for none.
  std::string train;
  /// The .npy file from which `readOptionFiles` reads `training.classWeights`.
  std::string classWeightsFile;
  unsigned optLevel = 3;
  /// True if zero elements of initializers remain zero and are removed from the sparsity patterns.
  bool pruneZeros = false;
  /// True if target-independent IR is printed with locations.
  bool printLocations = false;
  /// Values of dynamic sizes in a report.
  int64_t reportLength = 1000, reportBatch = 16;
  /// Path of `libbppsa_runtime.a`. Its directory also contains `libbppsa_emulator.a` and
  /// `libbppsa_mpi.a`.
  std::string runtimeLibrary;
  bool verifyEach = false;
  /// Installs LLVM signal handlers, so it is for stand-alone compilers.
  bool leaveReproducers = false;
  /// Called with every pass manager before passes are added, possibly from several threads at once.
  /// The compilation fails if it returns false.
  std::function<bool(mlir::PassManager &)> preparePassManager;
  /// Called at the begin of each part, for one part at a time, but from any thread. The compilation
  /// is cancelled if it returns false.
  std::function<bool(const CompileProgress &)> progress;
};

/// Returns one message per invalid option. Does not check properties that depend on the model.
std::vector<std::string> validate(const CompileOptions &options);

} // namespace bppsa

#endif // BPPSA_COMPILER_COMPILEOPTIONS_H
