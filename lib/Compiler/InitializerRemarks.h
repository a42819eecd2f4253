//===- InitializerRemarks.h - messages about initializers -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_COMPILER_INITIALIZERREMARKS_H
#define BPPSA_LIB_COMPILER_INITIALIZERREMARKS_H

#include "bppsa/Compiler/CompileOptions.h"
#include "bppsa/Import/Initializers.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <utility>

namespace bppsa {

/// Formats messages about initializers, one line each. Omits a suggested option if the user already
/// gave it. Lists must not be empty.
class InitializerRemarks {
public:
  explicit InitializerRemarks(const CompileOptions &options) : options(options) {}

  /// Initializers that look merged and are trained as one.
  std::string describeMerged(llvm::ArrayRef<MergedInitializer> merged) const;
  /// Parameters that are not trained because running statistics or a constant were merged into
  /// them.
  std::string describeUntrainedMerged(llvm::ArrayRef<MergedInitializer> merged) const;
  /// Running statistics of several nodes that are updated as one.
  std::string describeMergedStatistics(llvm::ArrayRef<MergedInitializer> merged) const;
  /// Parameters of modules that are called more than once.
  std::string describeCalled(llvm::ArrayRef<std::string> names) const;
  /// Matrices and their transposes.
  std::string
  describeTransposed(llvm::ArrayRef<std::pair<std::string, std::string>> transposed) const;
  /// Initializers that the exporter computed from parameters.
  std::string describeDerived(llvm::ArrayRef<std::string> derived, Evidence evidence) const;
  /// Trained initializers that may be buffers or constants.
  std::string describeDoubtful(llvm::ArrayRef<std::string> names) const;
  /// Initializers that are parameters only by name.
  std::string describeNamed(llvm::ArrayRef<std::string> names) const;
  /// Nodes whose biases the exporter removed.
  std::string describeRemoved(llvm::ArrayRef<std::string> nodes) const;
  /// Parameters missing from the file.
  std::string describeLost(llvm::ArrayRef<std::string> names) const;
  /// Buffers and constants, with reasons.
  std::string describeConstants(llvm::ArrayRef<std::string> constants) const;
  /// Initializers without a differentiable path to the loss, and the nodes at which paths end, if
  /// any.
  std::string describePathless(llvm::ArrayRef<std::string> names,
                               llvm::ArrayRef<std::string> endNodes) const;
  std::string describeConstantWeights(llvm::ArrayRef<std::string> names) const;
  /// The error that nothing is trained. Either list may be empty. `hasConstants`: `--train` could
  /// train some of the initializers; `isMerged`: `--untie` could separate some.
  std::string describeNothingTrained(llvm::ArrayRef<std::string> initializers,
                                     llvm::ArrayRef<std::string> constantWeights, bool hasConstants,
                                     bool isMerged) const;

private:
  std::string offerUntie(llvm::StringRef effect) const;
  std::string offerTrain(llvm::StringRef effect) const;

  const CompileOptions &options;
};

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_INITIALIZERREMARKS_H
