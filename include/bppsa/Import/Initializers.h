//===- Initializers.h - what exporters make of parameters -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Not every float initializer of a model is one parameter: exporters keep constants in
// initializers, and one initializer for parameters of equal value. docs/CommandLine.md has the
// rules.
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

/// An initializer that an exporter seems to have made of several parameters.
struct MergedInitializer {
  std::string name;
  /// The parameters besides `name`, or the nodes that read it where no name is recorded.
  std::vector<std::string> others;
  /// Running statistics or a constant are among them, so that it is not trained.
  bool holdsConstant = false;
  /// All of them are running statistics.
  bool areStatistics = false;
};

/// What decides the kind of an initializer.
enum class Evidence {
  /// What the file records.
  Record,
  /// Its values, or a layer that uses it.
  Use,
  /// Its name only.
  Name
};

/// The kind of an initializer and the reason for it.
struct InitializerKind {
  enum class Role {
    /// Trained: a parameter, or parameters in another layout.
    Parameter,
    /// A buffer or a constant, or folded from such.
    Constant,
    /// Folded from parameters by arithmetic: to train it is not to train the parameters.
    Derived,
    /// Trained, though nothing tells whether it is a parameter.
    Doubtful,
  };
  Role role;
  /// "recorded as BUFFER", "folded from 'A_log' by exp"
  std::string reason;
  Evidence evidence = Evidence::Record;
};

/// An initializer and why it is classified as it is.
struct ClassifiedInitializer {
  std::string name;
  InitializerKind kind;
};

struct InitializerFindings {
  std::vector<MergedInitializer> merged;
  /// Initializers of several names that are one parameter of a module, which is called as often.
  std::vector<std::string> called;
  /// Initializers that are no parameters.
  std::vector<ClassifiedInitializer> constants;
  /// Initializers that are trained.
  std::vector<ClassifiedInitializer> parameters;
  /// Matrices of which the second is the first one transposed.
  std::vector<std::pair<std::string, std::string>> transposed;
  /// Nodes without the bias of their module, which the exporter has removed because it is zero.
  std::vector<std::string> removedBiases;
  /// Parameters of the exported program that the file lacks for none of these reasons.
  std::vector<std::string> lost;
  /// Running statistics of BatchNormalization nodes.
  std::vector<std::string> statistics;
  /// Outputs of Constant nodes that look like weights.
  std::vector<std::string> constantWeights;
};

/// What `trainConstants` has changed.
struct TrainedConstants {
  /// The new initializers; empty where no constant has been found.
  std::vector<std::string> names;
  /// The bytes of the model with them.
  std::string bytes;
};

/// Looks at the float initializers of the model in `buffer`. Fails after an error where it cannot
/// be read.
mlir::FailureOr<InitializerFindings> inspectInitializers(llvm::MemoryBufferRef buffer,
                                                         mlir::MLIRContext *context);

/// Makes initializers of the float Constant nodes of rank 1 or more, also in graphs inside of nodes
/// and in functions, with outputs whose names match the regular expression `pattern`. Fails after
/// an error where the model cannot be read or the pattern is wrong.
mlir::FailureOr<TrainedConstants>
trainConstants(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context, llvm::StringRef pattern);

/// The bytes of the model in `buffer` with initializers of their own for the uses of initializers.
/// An empty `pattern` means those that look merged, one for each parameter; a regular expression
/// means all initializers whose names match, one for each use. Fails after an error where the
/// pattern is no regular expression or matches no initializer that is used twice.
mlir::FailureOr<std::string> untieInitializers(llvm::MemoryBufferRef buffer,
                                               mlir::MLIRContext *context, llvm::StringRef pattern);

} // namespace bppsa

#endif // BPPSA_IMPORT_INITIALIZERS_H
