//===- LoopVerifiers.cpp - verifiers of time loops ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Shapes of sequences and states
//===----------------------------------------------------------------------===//

namespace {
struct LoopArray {
  Type type;
  const char *role;
  /// Whether the array has a time axis, and its slots in excess of T.
  bool hasTime;
  int64_t extraSlots;
};

/// Static numbers of steps and samples (or blocks of samples) seen so far.
struct LoopExtent {
  int64_t steps = ShapedType::kDynamic, samples = ShapedType::kDynamic;
};
} // namespace

/// Sets `known` if it is dynamic.
static LogicalResult verifyExtent(Operation *op, const LoopArray &array, int64_t found,
                                  int64_t &known, const char *what) {
  if (ShapedType::isDynamic(known))
    known = found;
  if (ShapedType::isDynamic(found) || found == known)
    return success();
  return op->emitOpError() << array.role << " must have " << known << " " << what
                           << " as the arrays before it, found " << found << " in " << array.type;
}

static LogicalResult verifyGraphArray(Operation *op, const LoopArray &array, Type bodyType,
                                      LoopExtent &extent) {
  auto type = dyn_cast<RankedTensorType>(array.type);
  if (!type)
    return op->emitOpError() << array.role << " must be a tensor in graph form, found "
                             << array.type << "; run bppsa-lower-graph-bodies before bufferization";
  int64_t leading = array.hasTime ? 2 : 1;
  if (type.getRank() < leading)
    return op->emitOpError() << array.role << " must have rank " << leading << " or more, found "
                             << type;
  auto slice = RankedTensorType::get(type.getShape().drop_front(leading), type.getElementType());
  if (!slice.hasStaticShape())
    return op->emitOpError() << array.role << " must have static dimensions after "
                             << (array.hasTime ? "steps and samples" : "samples") << ", found "
                             << type;
  if (bodyType != slice)
    return op->emitOpError() << array.role << " " << type << " needs a body value of type " << slice
                             << ", found " << bodyType;
  if (failed(verifyExtent(op, array, type.getDimSize(leading - 1), extent.samples, "samples")))
    return failure();
  if (!array.hasTime)
    return success();
  int64_t slots = type.getDimSize(0);
  int64_t steps = ShapedType::isDynamic(slots) ? slots : slots - array.extraSlots;
  return verifyExtent(op, array, steps, extent.steps, "steps");
}

static LogicalResult verifyArray(Operation *op, const LoopArray &array, Type bodyType,
                                 std::optional<int64_t> lanes, LoopExtent &extent) {
  if (isGraphBody(op->getRegion(0).front()))
    return verifyGraphArray(op, array, bodyType, extent);
  auto shaped = cast<ShapedType>(array.type);
  int64_t rank = (array.hasTime ? 3 : 2) + (lanes ? 1 : 0);
  if (shaped.getRank() != rank)
    return op->emitOpError() << array.role << " must have rank " << rank << ", found "
                             << array.type;
  if (lanes && shaped.getShape().back() != *lanes)
    return op->emitOpError() << array.role << " must have " << *lanes
                             << " lanes in its last dimension, found " << array.type;
  int64_t features = shaped.getShape()[rank - (lanes ? 2 : 1)];
  auto vector = dyn_cast<VectorType>(bodyType);
  if (!vector || vector.getRank() != 1 || vector.getDimSize(0) != features ||
      vector.getElementType() != shaped.getElementType())
    return op->emitOpError() << array.role << " " << array.type
                             << " needs a body value of type vector<" << features << "x"
                             << shaped.getElementType() << ">, found " << bodyType;
  int64_t samples = shaped.getShape()[array.hasTime && !lanes ? 1 : 0];
  if (failed(verifyExtent(op, array, samples, extent.samples,
                          lanes ? "blocks of samples" : "samples")))
    return failure();
  if (!array.hasTime)
    return success();
  int64_t slots = shaped.getShape()[lanes ? 1 : 0];
  int64_t steps = ShapedType::isDynamic(slots) ? slots : slots - array.extraSlots;
  return verifyExtent(op, array, steps, extent.steps, "steps");
}

LogicalResult bppsa::verifyCapture(Operation *op, Type type, Type bodyType) {
  if (isGraphBody(op->getRegion(0).front())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return op->emitOpError() << "a capture must be a static tensor in graph form, found " << type;
    if (bodyType != type)
      return op->emitOpError() << "capture " << type << " needs a body argument of its type, found "
                               << bodyType;
    return success();
  }
  return jacobian::verifyVectorCapture(op, cast<ShapedType>(type), bodyType);
}

static FailureOr<SmallVector<Type>> getWrittenTypes(Operation *op, ValueRange destinations,
                                                    unsigned expected) {
  bool onTensors = llvm::any_of(destinations,
                                [](Value value) { return isa<RankedTensorType>(value.getType()); });
  if (onTensors && destinations.getTypes() != op->getResultTypes()) {
    op->emitOpError() << "on tensors must have destinations of the types of its results, or none";
    return failure();
  }
  bool bufferized = !destinations.empty() && !onTensors;
  if (bufferized && op->getNumResults() != 0) {
    op->emitOpError() << "must have either results or memory as destinations, found "
                      << op->getNumResults() << " results and " << destinations.size()
                      << " destinations";
    return failure();
  }
  SmallVector<Type> types =
      bufferized ? llvm::to_vector(destinations.getTypes()) : llvm::to_vector(op->getResultTypes());
  if (types.size() != expected) {
    op->emitOpError() << "must yield one value for each of its " << types.size()
                      << (bufferized ? " destinations" : " results") << ", found " << expected
                      << " values";
    return failure();
  }
  return types;
}

static LogicalResult verifyLanes(Operation *op, std::optional<int64_t> lanes) {
  if (lanes && *lanes <= 0)
    return op->emitOpError() << "lanes must be positive, found " << *lanes;
  return success();
}

LogicalResult bppsa::verifyArgumentCount(Operation *op, Block &body, size_t expected) {
  if (body.getNumArguments() != expected)
    return op->emitOpError() << "body must have " << expected
                             << " arguments, one for each sequence, state and capture, found "
                             << body.getNumArguments();
  return success();
}

//===----------------------------------------------------------------------===//
// Loops over time
//===----------------------------------------------------------------------===//

LogicalResult RecurrenceOp::verify() {
  std::optional<int64_t> lanes = getLanes();
  Block &body = getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  size_t numSequences = getSequences().size(), numStates = getInitial().size();
  if (failed(verifyLanes(*this, lanes)) ||
      failed(verifyArgumentCount(*this, body, numSequences + numStates + getCaptures().size())))
    return failure();
  if (isGraphForm() && failed(verifyGraphForm(*this, body, getDestinations(), lanes)))
    return failure();
  if (failed(verifySteps(*this, body, getSequences(), "sequence", getInitial(), getSteps())))
    return failure();
  if (yield.getNumOperands() < numStates)
    return emitOpError() << "must yield the " << numStates << " states after the step, found "
                         << yield.getNumOperands() << " values";
  FailureOr<SmallVector<Type>> written =
      getWrittenTypes(*this, getDestinations(), yield.getNumOperands());
  if (failed(written))
    return failure();

  LoopExtent extent;
  auto arguments = body.getArgumentTypes();
  for (auto [i, value] : llvm::enumerate(getSequences()))
    if (failed(verifyArray(*this, {value.getType(), "sequence", true, 0}, arguments[i], lanes,
                           extent)))
      return failure();
  for (auto [i, value] : llvm::enumerate(getInitial()))
    if (failed(verifyArray(*this, {value.getType(), "initial state", false, 0},
                           arguments[numSequences + i], lanes, extent)))
      return failure();
  for (auto [i, value] : llvm::enumerate(getCaptures()))
    if (failed(verifyCapture(*this, value.getType(), arguments[numSequences + numStates + i])))
      return failure();
  for (auto [i, type] : llvm::enumerate(*written)) {
    bool isState = i < numStates;
    if (isState && yield.getOperand(i).getType() != arguments[numSequences + i])
      return emitOpError() << "state " << i << " must keep its type " << arguments[numSequences + i]
                           << ", found " << yield.getOperand(i).getType();
    if (failed(verifyArray(*this, {type, isState ? "trajectory" : "output", true, isState},
                           yield.getOperand(i).getType(), lanes, extent)))
      return failure();
  }
  return success();
}

static LogicalResult verifyFactors(ChainOp op, LoopExtent &extent) {
  if (!op.getSumWith().empty() && op.getLanes())
    return op.emitOpError("sums over samples one by one and must have no lanes");
  for (Value factor : op.getFactors()) {
    auto shaped = cast<ShapedType>(factor.getType());
    if (shaped.getRank() == 0 || ShapedType::isDynamic(shaped.getShape().back()))
      return op.emitOpError() << "a factor must have a static last dimension, found " << shaped;
    auto slice = VectorType::get(shaped.getShape().back(), shaped.getElementType());
    if (failed(verifyArray(op, {shaped, "factor", true, 0}, slice, op.getLanes(), extent)))
      return failure();
  }
  return success();
}

/// Fails with a diagnostic if the values cannot be summed.
static FailureOr<SmallVector<int64_t>> getSumShape(ChainOp op, Type summed, int64_t with) {
  int64_t numFactors = op.getFactors().size();
  if (with < kNoFactor || with >= numFactors)
    return op.emitOpError() << "sum_with must have " << kNoFactor << " or name one of the "
                            << numFactors << " factors, found " << with;
  auto vector = dyn_cast<VectorType>(summed);
  if (!vector || vector.getRank() != 1)
    return op.emitOpError() << "a value to sum must be a vector of rank 1, found " << summed;
  SmallVector<int64_t> shape(vector.getShape());
  if (with != kNoFactor) {
    auto factor = cast<ShapedType>(op.getFactors()[with].getType());
    if (factor.getElementType() != vector.getElementType())
      return op.emitOpError() << "a value to sum must have the element type of its factor "
                              << factor << ", found " << summed;
    shape.push_back(factor.getShape().back());
  }
  return shape;
}

static LogicalResult verifySumType(ChainOp op, Type sum, ArrayRef<int64_t> shape, Type summed) {
  Type element = getElementTypeOrSelf(summed);
  auto found = cast<ShapedType>(sum);
  if (found.getShape() != shape || found.getElementType() != element)
    return op.emitOpError() << "a sum must have the type " << RankedTensorType::get(shape, element)
                            << " or the type of such a memref, found " << sum;
  return success();
}

static LogicalResult verifySums(ChainOp op, ArrayRef<Type> sums, ValueRange summed) {
  int64_t numElements = 0;
  for (auto [i, value, with] : llvm::enumerate(summed, op.getSumWith())) {
    if (op.isGraphForm() && with != kNoFactor)
      return op.emitOpError() << "sum_with must have " << kNoFactor << " in graph form, found "
                              << with;
    if (op.isGraphForm() && sums[i] != value.getType())
      return op.emitOpError() << "a sum must have the type " << value.getType() << ", found "
                              << sums[i];
    if (op.isGraphForm())
      continue;
    FailureOr<SmallVector<int64_t>> shape = getSumShape(op, value.getType(), with);
    if (failed(shape) ||
        (!op.getFlatSums() && failed(verifySumType(op, sums[i], *shape, value.getType()))))
      return failure();
    numElements += llvm::product_of(*shape);
  }
  return op.getFlatSums() ? verifySumType(op, sums[0], numElements, summed[0].getType())
                          : success();
}

LogicalResult ChainOp::verify() {
  std::optional<int64_t> lanes = getLanes();
  Block &body = getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  size_t numSaved = getSaved().size(), numStates = getSeeds().size();
  if (failed(verifyLanes(*this, lanes)) ||
      failed(verifyArgumentCount(*this, body, numSaved + numStates + getCaptures().size())))
    return failure();
  if (isGraphForm() && failed(verifyGraphForm(*this, body, getDestinations(), lanes)))
    return failure();
  if (failed(verifySteps(*this, body, getSaved(), "saved sequence", getSeeds(), getSteps())))
    return failure();
  if (numStates == 0 && !isGraphForm())
    return emitOpError("needs at least one state");
  if (isGraphForm() && !getFactors().empty())
    return emitOpError() << "must have no factors in graph form, found " << getFactors().size();
  if (isGraphForm() && !getPlan().isSequential())
    return emitOpError() << "must have the plan 'linear' in graph form, found '"
                         << getPlan().toString() << "'";
  size_t numSummed = getSumWith().size(), numSums = getFlatSums() ? 1 : numSummed;
  if (getFlatSums() && (isGraphForm() || numSummed == 0))
    return emitOpError("has flat_sums, but no vectors to sum; remove it");
  if (yield.getNumOperands() < numStates + numSummed) {
    auto error = emitOpError() << "must yield the cotangents of " << numStates << " states";
    if (numSummed > 0)
      error << " and " << numSummed << " values to sum";
    return error << ", found " << yield.getNumOperands() << " values";
  }
  if (getInjected().size() != getInjectInto().size())
    return emitOpError() << "needs one state index for each injected sequence, found "
                         << getInjectInto().size() << " indices for " << getInjected().size()
                         << " sequences";
  FailureOr<SmallVector<Type>> written =
      getWrittenTypes(*this, getDestinations(), yield.getNumOperands() - numSummed + numSums);
  if (failed(written))
    return failure();

  LoopExtent extent;
  auto arguments = body.getArgumentTypes();
  for (auto [i, value] : llvm::enumerate(getSaved()))
    if (failed(verifyArray(*this, {value.getType(), "saved sequence", true, 0}, arguments[i], lanes,
                           extent)))
      return failure();
  for (auto [i, value] : llvm::enumerate(getSeeds()))
    if (failed(verifyArray(*this, {value.getType(), "seed", false, 0}, arguments[numSaved + i],
                           lanes, extent)))
      return failure();
  for (auto [value, state] : llvm::zip(getInjected(), getInjectInto())) {
    if (state < 0 || state >= static_cast<int64_t>(numStates))
      return emitOpError() << "inject_into must name one of the " << numStates << " states, found "
                           << state;
    if (failed(verifyArray(*this, {value.getType(), "injected sequence", true, 0},
                           arguments[numSaved + state], lanes, extent)))
      return failure();
  }
  for (auto [i, value] : llvm::enumerate(getCaptures()))
    if (failed(verifyCapture(*this, value.getType(), arguments[numSaved + numStates + i])))
      return failure();
  if (failed(verifyFactors(*this, extent)))
    return failure();
  if (failed(verifySums(*this, ArrayRef(*written).take_back(numSums),
                        yield.getOperands().take_back(numSummed))))
    return failure();
  for (auto [i, type] : llvm::enumerate(ArrayRef(*written).drop_back(numSums))) {
    bool isState = i < numStates;
    if (isState && yield.getOperand(i).getType() != arguments[numSaved + i])
      return emitOpError() << "the cotangent of state " << i << " must keep its type "
                           << arguments[numSaved + i] << ", found "
                           << yield.getOperand(i).getType();
    if (failed(verifyArray(*this, {type, isState ? "cotangent" : "emitted sequence", !isState, 0},
                           yield.getOperand(i).getType(), lanes, extent)))
      return failure();
  }
  return verifyLinkStructure(*this);
}

LogicalResult bppsa::verifyNoSums(Operation *op) {
  auto sumWith = op->getAttrOfType<DenseI64ArrayAttr>("sumWith");
  if (!isa<ChainOp>(op) || !sumWith || sumWith.empty())
    return success();
  return op->emitOpError("sums its yielded values, which only chains and chunked scans for GPUs "
                         "support; do not run bppsa-fuse-gradients");
}
