//===- Initializers.h - inspect and rewrite initializers --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Exporters also store constants as float initializers. docs/Reference/Parameters.md has the rules
// that tell them apart.
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

/// An initializer into which an exporter seems to have merged parameters.
struct MergedInitializer {
  std::string name;
  /// The other parameters, or the nodes that read the initializer if no names are recorded.
  std::vector<std::string> others;
  /// Running statistics or a constant were merged in, so the initializer is not trained.
  bool holdsConstant = false;
  bool areStatistics = false;
};

/// The source of a classification.
enum class Evidence {
  Record,
  /// The values, or a layer that uses them.
  Use,
  Name
};

struct InitializerKind {
  enum class Role {
    /// Trained: a parameter, or parameters in another layout.
    Parameter,
    /// A constant or buffer, or folded from them.
    Constant,
    /// Folded from parameters by arithmetic, so training it is not equivalent to training them.
    Derived,
    /// Trained, although it may not be a parameter.
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
  /// Initializers with several names for one parameter.
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
  std::vector<std::string> names;
  std::string bytes;
};

/// Classifies the float initializers of the model in `buffer`.
mlir::FailureOr<InitializerFindings> inspectInitializers(llvm::MemoryBufferRef buffer,
                                                         mlir::MLIRContext *context);

/// Turns float Constant nodes of rank 1 or more into initializers if the name of their output
/// matches the regular expression `pattern`. Emits an error if the pattern is invalid.
mlir::FailureOr<TrainedConstants>
trainConstants(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context, llvm::StringRef pattern);

/// Returns the model in `buffer` with shared initializers split into copies. An empty `pattern`
/// splits those that look merged into one copy per parameter. Otherwise every initializer whose
/// name matches the regular expression is split into one copy per use.
mlir::FailureOr<std::string> untieInitializers(llvm::MemoryBufferRef buffer,
                                               mlir::MLIRContext *context, llvm::StringRef pattern);

} // namespace bppsa

#endif // BPPSA_IMPORT_INITIALIZERS_H
