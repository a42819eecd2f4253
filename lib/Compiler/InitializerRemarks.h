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

/// Omits a suggested option if the user already gave it.
class InitializerRemarks {
public:
  explicit InitializerRemarks(const CompileOptions &options) : options(options) {}

  std::string describeMerged(llvm::ArrayRef<MergedInitializer> merged) const;
  /// Parameters that are not trained because running statistics or a constant were merged into
  /// them.
  std::string describeUntrainedMerged(llvm::ArrayRef<MergedInitializer> merged) const;
  /// Running statistics of several nodes that are updated as one.
  std::string describeMergedStatistics(llvm::ArrayRef<MergedInitializer> merged) const;
  /// Parameters of modules that are called more than once.
  std::string describeCalled(llvm::ArrayRef<std::string> names) const;
  std::string
  describeTransposed(llvm::ArrayRef<std::pair<std::string, std::string>> transposed) const;
  std::string describeDerived(llvm::ArrayRef<std::string> derived, Evidence evidence) const;
  /// Trained initializers that may be buffers or constants.
  std::string describeDoubtful(llvm::ArrayRef<std::string> names) const;
  std::string describeNamed(llvm::ArrayRef<std::string> names) const;
  std::string describeRemoved(llvm::ArrayRef<std::string> nodes) const;
  std::string describeLost(llvm::ArrayRef<std::string> names) const;
  std::string describeConstants(llvm::ArrayRef<std::string> constants) const;
  /// Initializers without a differentiable path to the loss.
  std::string describePathless(llvm::ArrayRef<std::string> names,
                               llvm::ArrayRef<std::string> endNodes) const;
  std::string describeConstantWeights(llvm::ArrayRef<std::string> names) const;
  /// The error that nothing is trained.
  std::string describeNothingTrained(llvm::ArrayRef<std::string> initializers,
                                     llvm::ArrayRef<std::string> constantWeights, bool hasConstants,
                                     bool isMerged) const;

private:
  std::string getUntieHint(llvm::StringRef effect) const;
  std::string offerTrain(llvm::StringRef effect) const;

  const CompileOptions &options;
};

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_INITIALIZERREMARKS_H
