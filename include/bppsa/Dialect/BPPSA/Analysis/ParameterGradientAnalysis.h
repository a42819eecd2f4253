//===- ParameterGradientAnalysis.h - parameter gradients --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A value is on the parameter side if it is only used, without other data-dependent operands, for
// parameter gradients. Operations that compute it from other values are weight-gradient operations
// (W). The parameter side is a greatest fixpoint.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_PARAMETERGRADIENTANALYSIS_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_PARAMETERGRADIENTANALYSIS_H

#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "llvm/ADT/SmallVector.h"

namespace bppsa {

/// Separates the W operations of a backward pass from the others. Values are results of tensor
/// operations or contents of arrays in memory. Values and operations are numbered in the order in
/// which they are added.
class ParameterGradientAnalysis {
public:
  unsigned addValue(Dependence dependence);
  /// Uses are parameter gradients, other operations or results.
  void addUse(unsigned value, bool isGradient);
  /// Adds a backward operation that depends on more than constants. `isMovable` states that it has
  /// no other effects.
  unsigned addOp(llvm::ArrayRef<unsigned> read, llvm::ArrayRef<unsigned> made, bool isMovable);

  /// Call this after all values, uses and operations were added.
  void run();
  bool isParameter(unsigned op) const { return ops[op].isParameter; }
  bool isParameterValue(unsigned value) const;
  llvm::ArrayRef<unsigned> getReaders(unsigned value) const { return values[value].readers; }

private:
  struct ValueUses {
    Dependence dependence = Dependence::Constants;
    bool isMade = false;
    bool isGradient = false, isUsedElsewhere = false;
    llvm::SmallVector<unsigned, 2> readers;
  };
  struct Op {
    llvm::SmallVector<unsigned, 4> read, made;
    bool isMovable = false;
    /// True if all values read and computed are on the parameter side.
    bool isParameterSide = true;
    bool isParameter = false;
  };

  bool makesParameterValues(const Op &op) const;
  bool belongsToParameterSide(const Op &op) const;

  llvm::SmallVector<ValueUses, 0> values;
  llvm::SmallVector<Op, 0> ops;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_PARAMETERGRADIENTANALYSIS_H
