//===- CompileOptions.h - what the compiler is asked for --------*- C++ -*-===//
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

/// What a compilation makes of a model.
enum class EmitKind { Executable, Shared, Object, MLIR, LLVM, Assembly, PTX, Report, Initializers };

/// The phases of a compilation, in order. A compilation can stop after any of them.
enum class Phase { Import, Loss, Differentiate, Scan, Lower, End };

/// The part of a compilation that begins.
struct CompileProgress {
  /// "import", "loss", "differentiate", "scan", "kernels", "code" or "link".
  const char *phase;
  /// How many parts have begun before it, and how many are known: `code` is parts that are counted
  /// when it begins.
  int64_t done, total;
};

/// The options of `bppsa-compile`, with the meanings and the defaults of
/// docs/Reference/CommandLine.md.
struct CompileOptions {
  TrainingOptions training;
  EmitKind emit = EmitKind::Executable;
  /// `--compile-to`: the IR after an earlier phase than `End` is what is made, whatever `emit`
  /// says.
  Phase stopAfter = Phase::End;
  /// `--dump-phases-to`: a directory for the IR after every phase; empty for none.
  std::string dumpDirectory;
  /// An LLVM CPU name or `native`; empty for every x86-64 level.
  std::string mcpu;
  /// `--gpu-arch`: the architectures to assemble code for; empty for sm_90. For CUDA only.
  std::vector<std::string> gpuArchitectures;
  /// Whether a program for GPUs runs its kernels on the CPU.
  bool emulate = false;
  /// `--distributed`: what connects the processes that train together; empty for one process.
  std::string distributed;
  /// `--batch-axis`: each is `NAME:AXIS`.
  std::vector<std::string> batchAxes;
  /// `--carry`: each is `IN:OUT`. With any, the model is one step of a stream.
  std::vector<std::string> carries;
  /// `--dynamic`: each is `NAME:AXIS`, an axis of a graph input whose size the exporter fixed.
  std::vector<std::string> dynamicAxes;
  /// `--step-axis`: each is `NAME:AXIS`.
  std::vector<std::string> stepAxes;
  /// `--bind`: each is `NAME=VALUE[,VALUE...]`.
  std::vector<std::string> bindings;
  /// `--untie`: initializers of their own for the uses of an initializer; empty for those that look
  /// merged by an exporter, or a regular expression over the names of initializers.
  std::optional<std::string> untie;
  /// `--training-mode`: BatchNormalization and Dropout nodes that behave as in training while the
  /// model is trained; empty for all, or a regular expression over the names of nodes.
  std::optional<std::string> trainingMode;
  /// `--freeze-rows`: each is `NAME:ROW`, a row of a trained initializer that stays as it is.
  std::vector<std::string> freezeRows;
  /// `--train`: a regular expression over the names of initializers that are trained though they
  /// look like constants of an exporter; empty for none.
  std::string train;
  /// `--class-weights`: the .npy file that `readOptionFiles` reads `training.classWeights` from;
  /// empty for none.
  std::string classWeightsFile;
  /// 0 to 3.
  unsigned optLevel = 3;
  /// Elements of initializers that are zero stay so and leave the patterns.
  bool pruneZeros = false;
  /// Whether IR before the target is looked at is printed with the locations of its operations.
  bool printLocations = false;
  /// Sizes that a report assumes where only the run time knows them.
  int64_t reportLength = 1000, reportBatch = 16;
  /// The archive `libbppsa_runtime.a`, with which executables and shared libraries are linked.
  /// Beside it are `libbppsa_emulator.a`, for emulated programs, and `libbppsa_mpi.a`, for those of
  /// `--distributed=mpi`.
  std::string runtimeLibrary;
  /// Whether the verifier runs after every pass, not only after every phase.
  bool verifyEach = false;
  /// Whether a crash in a pass leaves a file that reproduces it, which takes signal handlers of
  /// LLVM: for programs that are nothing but a compiler.
  bool leaveReproducers = false;
  /// Called with every pass manager before its passes are added, also from several threads at a
  /// time: flags of MLIR, instrumentations. Where it returns false, the compilation has failed.
  std::function<bool(mlir::PassManager &)> preparePassManager;
  /// Called where a part of the compilation begins, for one part at a time, but from any thread.
  /// Where it returns false, the compilation ends with an error.
  std::function<bool(const CompileProgress &)> progress;
};

/// Says of every mistake in `options` what the option is, by its name on the command line, what is
/// accepted, and what was found. What depends on the model is not checked.
std::vector<std::string> validate(const CompileOptions &options);

} // namespace bppsa

#endif // BPPSA_COMPILER_COMPILEOPTIONS_H
