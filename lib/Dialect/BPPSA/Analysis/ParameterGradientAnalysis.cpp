//===- ParameterGradientAnalysis.cpp - operations of parameter gradients --===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/ParameterGradientAnalysis.h"
#include "llvm/ADT/STLExtras.h"

using namespace bppsa;
using llvm::ArrayRef;

unsigned ParameterGradientAnalysis::addValue(Dependence dependence) {
  values.emplace_back().dependence = dependence;
  return values.size() - 1;
}

void ParameterGradientAnalysis::addUse(unsigned value, bool isGradient) {
  (isGradient ? values[value].isGradient : values[value].isUsedElsewhere) = true;
}

unsigned ParameterGradientAnalysis::addOp(ArrayRef<unsigned> read, ArrayRef<unsigned> made,
                                          bool isMovable) {
  unsigned number = ops.size();
  Op &op = ops.emplace_back();
  op.read.assign(read.begin(), read.end());
  op.made.assign(made.begin(), made.end());
  op.isMovable = isMovable;
  for (unsigned value : read)
    values[value].readers.push_back(number);
  for (unsigned value : made)
    values[value].isMade = true;
  return number;
}

bool ParameterGradientAnalysis::isParameterValue(unsigned number) const {
  const ValueUses &value = values[number];
  return value.isMade && !value.isUsedElsewhere && (value.isGradient || !value.readers.empty()) &&
         llvm::all_of(value.readers, [&](unsigned op) { return ops[op].isParameterSide; });
}

bool ParameterGradientAnalysis::makesParameterValues(const Op &op) const {
  return op.isMovable && !op.made.empty() &&
         llvm::all_of(op.made, [&](unsigned value) { return isParameterValue(value); });
}

/// Returns true if `op` computes values of the parameter side from values of the parameter side. If
/// several read values depend on data, all must depend on the loss: they are then contributions to
/// a sum. Otherwise, one of them may be an activation that multiplies the other.
bool ParameterGradientAnalysis::belongsToParameterSide(const Op &op) const {
  auto ofData = llvm::make_filter_range(
      op.read, [&](unsigned value) { return values[value].dependence >= Dependence::Data; });
  bool isSingle = llvm::hasNItemsOrLess(ofData, 1);
  return makesParameterValues(op) && llvm::all_of(ofData, [&](unsigned value) {
           return (isSingle || values[value].dependence == Dependence::Targets) &&
                  isParameterValue(value);
         });
}

void ParameterGradientAnalysis::run() {
  for (bool changed = true; std::exchange(changed, false);)
    for (Op &op : llvm::reverse(ops))
      if (op.isParameterSide && !belongsToParameterSide(op)) {
        op.isParameterSide = false;
        changed = true;
      }
  for (Op &op : ops)
    op.isParameter = makesParameterValues(op);
}
