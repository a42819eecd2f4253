//===- TransitionVerifiers.cpp - verifiers of affine transitions ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include <numeric>

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

/// Checks that `array` has rank `rank`, not counting lanes, and that its last dimension is `lanes`
/// if given.
static LogicalResult verifyArrayRank(Operation *op, Type array, const char *what, int64_t rank,
                                     std::optional<int64_t> lanes) {
  auto shaped = cast<ShapedType>(array);
  int64_t expected = rank + (lanes ? 1 : 0);
  if (shaped.getRank() != expected)
    return op->emitOpError() << what << " must have rank " << expected << ", found " << array;
  if (lanes && shaped.getShape().back() != *lanes)
    return op->emitOpError() << what << " must have " << *lanes
                             << " lanes in its last dimension, found " << array;
  return success();
}

static ArrayRef<int64_t> getUnpackedShape(Type array, std::optional<int64_t> lanes) {
  return cast<ShapedType>(array).getShape().drop_back(lanes ? 1 : 0);
}

static LogicalResult verifyRowOrder(Operation *op, Type array, int64_t size,
                                    std::optional<int64_t> lanes) {
  if (!lanes && getUnpackedShape(array, lanes)[1] == size)
    return success();
  return op->emitOpError() << "by_rows needs transitions of " << size << " columns without an "
                           << "offset and lanes, found " << array << "; remove it";
}

static LogicalResult verifyTransition(Operation *op, Type array, int64_t size, bool diagonal,
                                      std::optional<int64_t> lanes) {
  if (failed(verifyArrayRank(op, array, "a transition", 3, lanes)))
    return failure();
  ArrayRef<int64_t> shape = getUnpackedShape(array, lanes);
  int64_t columns = diagonal ? 1 : size;
  if (shape[2] != size || (shape[1] != columns && shape[1] != columns + 1))
    return op->emitOpError() << "a transition of " << size << " values must have " << columns
                             << " or, with an offset, " << columns + 1 << " columns of " << size
                             << " rows, found " << array;
  return success();
}

int64_t TransitionOp::getNumValues() {
  return std::accumulate(getStates().begin(), getStates().end(), int64_t(0));
}

static LogicalResult verifySequence(TransitionOp op, Type sequence, Type argument) {
  if (failed(verifyArrayRank(op, sequence, "a sequence", 3, op.getLanes())))
    return failure();
  int64_t features = getUnpackedShape(sequence, op.getLanes()).back();
  Type expected = ShapedType::isDynamic(features)
                      ? Type()
                      : VectorType::get(features, cast<ShapedType>(sequence).getElementType());
  if (argument == expected)
    return success();
  return op.emitOpError() << "sequence " << sequence << " must give the body a vector of its "
                          << "features, found " << argument;
}

static LogicalResult verifyLinkStates(TransitionOp op) {
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() != op.getStates().size())
    return op.emitOpError() << "must yield the cotangents of " << op.getStates().size()
                            << " states and nothing else, found " << yield.getNumOperands()
                            << " values";
  Type element = cast<ShapedType>(op.getDestination().getType()).getElementType();
  for (auto [i, size] : llvm::enumerate(op.getStates())) {
    Type taken = body.getArgument(op.getSaved().size() + i).getType();
    Type given = yield.getOperand(i).getType(), expected = VectorType::get(size, element);
    if (taken != expected || given != expected)
      return op.emitOpError() << "the cotangent of state " << i << " must have type " << expected
                              << ", found " << taken << " to " << given;
  }
  return success();
}

LogicalResult TransitionOp::verify() {
  Block &body = getBody().front();
  size_t numSaved = getSaved().size(), numStates = getStates().size();
  if (getSaved().empty())
    return emitOpError("needs at least one saved sequence to know the number of steps");
  if (getStates().empty() || llvm::any_of(getStates(), [](int64_t size) { return size <= 0; }))
    return emitOpError("needs at least one state, and states of at least one value");
  if (failed(verifyTiedResult(*this, getDestination().getType())) ||
      failed(verifyArgumentCount(*this, body, numSaved + numStates + getCaptures().size())) ||
      failed(verifyLinkStates(*this)))
    return failure();
  for (auto [i, value] : llvm::enumerate(getSaved()))
    if (failed(verifySequence(*this, value.getType(), body.getArgument(i).getType())))
      return failure();
  if (getInjected().size() != getInjectInto().size())
    return emitOpError() << "needs one state index for each injected sequence, found "
                         << getInjectInto().size() << " indices for " << getInjected().size()
                         << " sequences";
  for (auto [value, state] : llvm::zip(getInjected(), getInjectInto())) {
    if (state < 0 || state >= static_cast<int64_t>(numStates))
      return emitOpError() << "inject_into must name one of the " << numStates << " states, found "
                           << state;
    if (failed(
            verifySequence(*this, value.getType(), body.getArgument(numSaved + state).getType())))
      return failure();
  }
  for (auto [i, value] : llvm::enumerate(getCaptures()))
    if (failed(verifyCapture(*this, value.getType(),
                             body.getArgument(numSaved + numStates + i).getType())))
      return failure();
  Type result = getDestination().getType();
  if (failed(verifyTransition(*this, result, getNumValues(), getDiagonal(), getLanes())))
    return failure();
  int64_t columns = (getDiagonal() ? 1 : getNumValues()) + (getInjected().empty() ? 0 : 1);
  int64_t found = getUnpackedShape(result, getLanes())[1];
  if (found != columns)
    return emitOpError() << "must make " << columns << " columns, found " << result;
  return getByRows() ? verifyRowOrder(*this, result, getNumValues(), getLanes()) : success();
}

int64_t FactoredTransitionOp::getNumValues() { return getStateOffset(getStates().size()); }

int64_t FactoredTransitionOp::getStateOffset(int64_t state) {
  return std::accumulate(getStates().begin(), getStates().begin() + state, int64_t(0));
}

static LogicalResult verifyScale(FactoredTransitionOp op, int64_t number, int64_t size) {
  if (failed(verifyFactorNumber(op, "scales", number, op.getScales())))
    return failure();
  if (number < 0)
    return success();
  Type type = op.getScales()[number].getType();
  if (failed(verifyArrayRank(op, type, "a scale", 2, op.getLanes())))
    return failure();
  int64_t found = getUnpackedShape(type, op.getLanes()).back();
  if (found != size)
    return op.emitOpError() << "scale " << number << " must have the " << size
                            << " values of its state, found " << type;
  return success();
}

LogicalResult FactoredTransitionOp::verify() {
  if (getStates().empty() || llvm::any_of(getStates(), [](int64_t size) { return size <= 0; }))
    return emitOpError("needs at least one state, and states of at least one value");
  if (failed(verifyTiedResult(*this, getDestination().getType())))
    return failure();
  for (TermAttr term : getTerms().getAsRange<TermAttr>())
    if (failed(verifyTerm(*this, term, getStates(), "matrices", getMatrices())) ||
        failed(verifyScale(*this, term.getLeft(), getStates()[term.getRow()])) ||
        failed(verifyScale(*this, term.getRight(), getStates()[term.getCol()])))
      return failure();
  if (getInjected().size() != getInjectInto().size())
    return emitOpError() << "needs one state index for each injected cotangent, found "
                         << getInjectInto().size() << " indices for " << getInjected().size()
                         << " cotangents";
  for (auto [value, state] : llvm::zip(getInjected(), getInjectInto())) {
    if (state < 0 || state >= static_cast<int64_t>(getStates().size()))
      return emitOpError() << "inject_into must name one of the " << getStates().size()
                           << " states, found " << state;
    if (failed(verifyArrayRank(*this, value.getType(), "a cotangent", 2, getLanes())))
      return failure();
    if (getUnpackedShape(value.getType(), getLanes()).back() != getStates()[state])
      return emitOpError() << "an injected cotangent must have the " << getStates()[state]
                           << " values of its state, found " << value.getType();
  }
  Type result = getDestination().getType();
  if (failed(verifyTransition(*this, result, getNumValues(), /*diagonal=*/false, getLanes())))
    return failure();
  int64_t columns = getNumValues() + (getInjected().empty() ? 0 : 1);
  if (getUnpackedShape(result, getLanes())[1] != columns)
    return emitOpError() << "must make " << columns << " columns, found " << result;
  return success();
}

LogicalResult ComposeTransitionsOp::verify() {
  Type first = getFirst().getType(), second = getSecond().getType();
  Type destination = getDestination().getType();
  if (failed(verifyArrayRank(*this, first, "a transition", 3, getLanes())))
    return failure();
  int64_t size = getUnpackedShape(first, getLanes()).back();
  for (Type type : {first, second, destination})
    if (failed(verifyTransition(*this, type, size, getDiagonal(), getLanes())))
      return failure();
  int64_t columns = getUnpackedShape(first, getLanes())[1];
  for (Type type : {second, destination})
    if (getUnpackedShape(type, getLanes())[1] != columns)
      return emitOpError() << "must have transitions of " << columns << " columns only, found "
                           << type;
  if (getFirst() == getDestination())
    return emitOpError("must not overwrite its first operand, which every column of the result "
                       "reads; use the second or other memory");
  return verifyTiedResult(*this, destination);
}

LogicalResult ApplyTransitionOp::verify() {
  Type cotangent = getCotangent().getType(), destination = getDestination().getType();
  for (Type type : {cotangent, destination})
    if (failed(verifyArrayRank(*this, type, "a cotangent", 2, getLanes())))
      return failure();
  int64_t size = getUnpackedShape(cotangent, getLanes()).back();
  if (getUnpackedShape(destination, getLanes()).back() != size)
    return emitOpError() << "must keep the " << size << " values of its cotangent, found "
                         << destination;
  Type transition = getTransition().getType();
  if (failed(verifyTransition(*this, transition, size, getDiagonal(), getLanes())) ||
      (getByRows() && failed(verifyRowOrder(*this, transition, size, getLanes()))))
    return failure();
  if (getCotangent() == getDestination())
    return emitOpError("must not overwrite its cotangent, which every row of the result reads; "
                       "use other memory");
  return verifyTiedResult(*this, destination);
}
