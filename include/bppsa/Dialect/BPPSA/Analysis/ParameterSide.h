//===- ParameterSide.h - cotangents and gradients of parameters -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A value is a parameter's if only gradients of parameters need it and nothing on the way to them
// reads anything that depends on the data: after it, no layer is left to go through. The operation
// that makes it out of cotangents and activations is the W of a layer. That is a greatest fixpoint:
// the sum of two contributions to one gradient is a parameter's if both are.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_PARAMETERSIDE_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_PARAMETERSIDE_H

#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "llvm/ADT/SmallVector.h"

namespace bppsa {

/// Tells the operations of a backward pass that are W from the others. Values and operations are
/// numbers, in the order in which they are added: results of operations on tensors, or contents of
/// arrays in memory.
class ParameterSide {
public:
  unsigned addValue(Dependence dependence);
  /// Notes a use of `value`, as the gradient of a parameter or as something else.
  void addUse(unsigned value, bool isGradient);
  /// An operation of the backward pass that depends on more than constants and makes `made` out of
  /// `read`. `isMovable`: it has no other effect.
  unsigned addOp(llvm::ArrayRef<unsigned> read, llvm::ArrayRef<unsigned> made, bool isMovable);

  /// After all are there.
  void run();
  bool isParameter(unsigned op) const { return ops[op].isParameter; }
  /// Whether the value is a parameter's.
  bool isParameterValue(unsigned value) const;
  /// The operations that read `value`.
  llvm::ArrayRef<unsigned> getReaders(unsigned value) const { return values[value].readers; }

private:
  struct ValueUses {
    Dependence dependence = Dependence::Constants;
    /// Whether an operation of the backward pass makes it.
    bool isMade = false;
    bool isGradient = false, isUsedElsewhere = false;
    llvm::SmallVector<unsigned, 2> readers;
  };
  struct Op {
    llvm::SmallVector<unsigned, 4> read, made;
    bool isMovable = false;
    /// Whether it works on values of parameters alone, to make such values.
    bool isParameterSide = true;
    bool isParameter = false;
  };

  bool makesParameterValues(const Op &op) const;
  bool belongsToParameterSide(const Op &op) const;

  llvm::SmallVector<ValueUses, 0> values;
  llvm::SmallVector<Op, 0> ops;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_PARAMETERSIDE_H
