//===- VanishingValues.cpp - values that vanish with cotangents -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/VanishingValues.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace bppsa;

/// Result of a cell operation with a zero operand.
enum class AtZero {
  Zero,
  /// Zero if all other operands of this category are zero.
  Others,
  Unknown
};

static AtZero getAtZero(CellOpInterface cell, unsigned operand) {
  RowAccess access = cell.getRowAccess(operand);
  // Vector and addend of a product; the addend has access `Same`.
  if (cell.getWork() == CellWork::Product)
    return access == RowAccess::All || access == RowAccess::Same ? AtZero::Others : AtZero::Unknown;
  if (isa<vector::ExtractStridedSliceOp, vector::InsertStridedSliceOp>(cell))
    return AtZero::Others;
  switch (access == RowAccess::Same ? cell.getSlope(operand) : CellSlope::Opaque) {
  case CellSlope::ByOthers:
    return AtZero::Zero;
  case CellSlope::One:
  case CellSlope::MinusOne:
  case CellSlope::ByCondition:
    return AtZero::Others;
  default:
    return AtZero::Unknown;
  }
}

static bool vanishes(CellOpInterface cell, llvm::function_ref<bool(Value)> isZero) {
  bool hasTerms = false;
  for (auto [number, operand] : llvm::enumerate(cell->getOperands())) {
    AtZero atZero = getAtZero(cell, number);
    if (atZero == AtZero::Zero && isZero(operand))
      return true;
    if (atZero == AtZero::Others && !isZero(operand))
      return false;
    hasTerms |= atZero == AtZero::Others;
  }
  return hasTerms;
}

std::optional<SmallVector<bool>> bppsa::findVanishingEmitted(const CotangentLoop &loop) {
  llvm::DenseSet<Value> found;
  for (size_t state = 0; state < loop.getNumStates(); ++state)
    found.insert(loop.body->getArgument(loop.saved.size() + state));
  auto isZero = [&](Value value) {
    return found.contains(value) || matchPattern(value, m_AnyZeroFloat());
  };
  for (Operation &op : loop.body->without_terminator())
    if (auto cell = dyn_cast<CellOpInterface>(op); cell && vanishes(cell, isZero))
      found.insert(op.getResult(0));
  ValueRange yielded = loop.body->getTerminator()->getOperands();
  if (!llvm::all_of(yielded.take_front(loop.getNumStates()), isZero))
    return std::nullopt;
  return llvm::map_to_vector(yielded.slice(loop.getNumStates(), loop.getEmitted().size()), isZero);
}
