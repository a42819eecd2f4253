//===- ParameterGradientAnalysis.h - operations of parameter gradients ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A value is on the parameter side if only parameter gradients use it and no operation between it
// and these gradients reads other values that depend on the data. The operation that computes such
// a value from cotangents and activations is the weight-gradient operation (W) of a layer. The
// parameter side is a greatest fixpoint: the sum of two contributions to a gradient belongs to it
// if both contributions do.
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
  /// Records a use of `value`, either as a parameter gradient or in another operation or result.
  void addUse(unsigned value, bool isGradient);
  /// Adds an operation of the backward pass that reads the values `read` and computes the values
  /// `made`. The operation must depend on more than constants. `isMovable` states that it has no
  /// other effects.
  unsigned addOp(llvm::ArrayRef<unsigned> read, llvm::ArrayRef<unsigned> made, bool isMovable);

  /// Computes the parameter side. Call this after all values, uses and operations have been added.
  void run();
  bool isParameter(unsigned op) const { return ops[op].isParameter; }
  bool isParameterValue(unsigned value) const;
  llvm::ArrayRef<unsigned> getReaders(unsigned value) const { return values[value].readers; }

private:
  struct ValueUses {
    Dependence dependence = Dependence::Constants;
    /// True if an operation of the backward pass computes the value.
    bool isMade = false;
    bool isGradient = false, isUsedElsewhere = false;
    llvm::SmallVector<unsigned, 2> readers;
  };
  struct Op {
    llvm::SmallVector<unsigned, 4> read, made;
    bool isMovable = false;
    /// True if the operation computes values of the parameter side from values of the parameter
    /// side.
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
