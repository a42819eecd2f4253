//===- InitializerClassifier.h - classify initializers ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_COMPILER_INITIALIZERCLASSIFIER_H
#define BPPSA_LIB_COMPILER_INITIALIZERCLASSIFIER_H

#include "InitializerRemarks.h"
#include "bppsa/Compiler/Compiler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

namespace bppsa {

/// Decides for each initializer whether it is trained, and collects remarks for the user.
class InitializerClassifier {
public:
  InitializerClassifier(mlir::func::FuncOp forward, const InitializerFindings &findings,
                        const CompileOptions &options,
                        llvm::ArrayRef<std::string> trainedConstants);

  void run();
  /// Returns true if `--train` matches an initializer that would not be trained otherwise.
  bool matchesTrain() const { return isTrainMatched; }
  /// Returns true if training was intended, but no initializer is trained.
  bool hasNothingToTrain() const;
  std::string describeNothingTrained() const;
  const std::vector<std::string> &getConstantWeights() const { return constantWeights; }
  void addRemarks();

  std::vector<CompileDiagnostic> remarks;
  llvm::json::Object classification;

private:
  struct Decision {
    llvm::StringRef kind;
    std::string reason;
  };
  Decision decide(unsigned argument, llvm::StringRef name);
  Decision decideFrozen(unsigned argument, llvm::StringRef name);
  bool isFrozenByUser(llvm::StringRef name) const {
    return !options.training.freeze.empty() && freeze.match(name);
  }
  bool isTrained(llvm::StringRef name) const { return trained.contains(name); }
  std::vector<std::string> findEndNodes();
  void warnOfUntrained();
  void warnOfMerged();
  void warnOfDerived();
  void warnOfGuessed();
  void warn(std::string message) {
    remarks.push_back({CompileDiagnostic::Severity::Warning, std::move(message)});
  }
  void note(std::string message) {
    remarks.push_back({CompileDiagnostic::Severity::Note, std::move(message)});
  }

  mlir::func::FuncOp forward;
  const InitializerFindings &findings;
  const CompileOptions &options;
  InitializerRemarks words;
  llvm::Regex train, freeze;
  llvm::DenseSet<mlir::Value> differentiable;
  llvm::StringMap<std::string> constants;
  llvm::StringMap<InitializerKind> parameters;
  llvm::StringSet<> trained, trainedConstants, updatedStatistics;
  bool isTrainMatched, isFreezeMatched = false, isTrainingMeant = false;
  std::vector<std::string> pathless, constantReasons, untrainedReasons, constantWeights;
};

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_INITIALIZERCLASSIFIER_H
