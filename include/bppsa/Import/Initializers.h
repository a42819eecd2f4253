//===- Initializers.h - inspect and rewrite initializers --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Exporters also store constants as float initializers, and share one initializer between
// parameters of equal value. docs/Reference/CommandLine.md has the rules that tell them apart.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_IMPORT_INITIALIZERS_H
#define BPPSA_IMPORT_INITIALIZERS_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <string>
#include <utility>
#include <vector>

namespace bppsa {

/// An initializer into which an exporter seems to have merged several parameters.
struct MergedInitializer {
  std::string name;
  /// The other parameters, or the nodes that read the initializer if no names are recorded.
  std::vector<std::string> others;
  /// Running statistics or a constant were merged in, so the initializer is not trained.
  bool holdsConstant = false;
  /// Only running statistics were merged.
  bool areStatistics = false;
};

/// The source of an initializer's classification.
enum class Evidence {
  /// Metadata in the file.
  Record,
  /// The values, or a layer that uses them.
  Use,
  /// Only the name.
  Name
};

/// The role of an initializer and the reason for it.
struct InitializerKind {
  enum class Role {
    /// Trained: a parameter, or parameters in another layout.
    Parameter,
    /// A buffer or a constant, or folded from buffers and constants.
    Constant,
    /// Folded from parameters by arithmetic. Training it is not equivalent to training the
    /// parameters.
    Derived,
    /// Trained, although nothing shows whether it is a parameter.
    Doubtful,
  };
  Role role;
  /// For messages: "recorded as BUFFER", "folded from 'A_log' by exp".
  std::string reason;
  Evidence evidence = Evidence::Record;
};

struct ClassifiedInitializer {
  std::string name;
  InitializerKind kind;
};

struct InitializerFindings {
  std::vector<MergedInitializer> merged;
  /// Initializers with several names for one parameter, of a module that is called several times.
  std::vector<std::string> called;
  std::vector<ClassifiedInitializer> constants;
  std::vector<ClassifiedInitializer> parameters;
  /// Pairs of matrices; the second is the transpose of the first.
  std::vector<std::pair<std::string, std::string>> transposed;
  /// Nodes whose module has a bias that the exporter removed because it is zero.
  std::vector<std::string> removedBiases;
  /// Parameters of the exported program that are missing from the file for another reason.
  std::vector<std::string> lost;
  std::vector<std::string> statistics;
  /// Outputs of Constant nodes that look like weights.
  std::vector<std::string> constantWeights;
};

struct TrainedConstants {
  /// The new initializers; empty if no constant matched.
  std::vector<std::string> names;
  /// The serialized model with the new initializers.
  std::string bytes;
};

/// Classifies the float initializers of the model in `buffer`. Emits an error if the model cannot
/// be read.
mlir::FailureOr<InitializerFindings> inspectInitializers(llvm::MemoryBufferRef buffer,
                                                         mlir::MLIRContext *context);

/// Turns float Constant nodes of rank 1 or more into initializers if the name of their output
/// matches the regular expression `pattern`. Subgraphs and functions are included. Emits an error
/// if the model cannot be read or the pattern is invalid.
mlir::FailureOr<TrainedConstants>
trainConstants(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context, llvm::StringRef pattern);

/// Returns the model in `buffer` with shared initializers split into copies. An empty `pattern`
/// splits the initializers that look merged into one copy per parameter. Otherwise `pattern` is a
/// regular expression, and every initializer with a matching name is split into one copy per use.
/// Emits an error if the pattern is invalid or matches no initializer with two uses.
mlir::FailureOr<std::string> untieInitializers(llvm::MemoryBufferRef buffer,
                                               mlir::MLIRContext *context, llvm::StringRef pattern);

} // namespace bppsa

#endif // BPPSA_IMPORT_INITIALIZERS_H
