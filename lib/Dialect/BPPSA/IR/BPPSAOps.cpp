//===- BPPSAOps.cpp - verifiers -------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace bppsa;

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shapes of sequences and states
//===----------------------------------------------------------------------===//

namespace {
/// One array of a time loop, with the words that name it in a diagnostic.
struct LoopArray {
  Type type;
  const char *role;
  /// Whether the array has a time axis, and how many slots beyond T it has.
  bool hasTime;
  int64_t extraSlots;
};

/// The static numbers of steps and of samples (blocks of samples, once packed)
/// that the arrays of one loop have shown so far.
struct LoopExtent {
  int64_t steps = ShapedType::kDynamic, samples = ShapedType::kDynamic;
};
} // namespace

/// Checks that `found`, the size of `array` in a dimension that counts `what`,
/// agrees with `known`, or makes it known.
static LogicalResult verifyExtent(Operation *op, const LoopArray &array, int64_t found,
                                  int64_t &known, const char *what) {
  if (ShapedType::isDynamic(known))
    known = found;
  if (ShapedType::isDynamic(found) || found == known)
    return success();
  return op->emitOpError() << array.role << " must have " << known << " " << what
                           << " as the arrays before it, found " << found << " in " << array.type;
}

/// Checks that `array` has the rank of its role, gives the body vector
/// `bodyType` and agrees with `extent`; `lanes` is that of the loop.
static LogicalResult verifyArray(Operation *op, const LoopArray &array, Type bodyType,
                                 std::optional<int64_t> lanes, LoopExtent &extent) {
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

/// A capture enters the body as a vector of its own static shape.
static LogicalResult verifyCapture(Operation *op, Type type, Type bodyType) {
  auto shaped = cast<ShapedType>(type);
  if (!shaped.hasStaticShape() || shaped.getRank() < 1 || shaped.getRank() > 2)
    return op->emitOpError() << "a capture must be a static vector or matrix, found " << type;
  if (bodyType != VectorType::get(shaped.getShape(), shaped.getElementType()))
    return op->emitOpError() << "capture " << type << " needs a body argument of type "
                             << VectorType::get(shaped.getShape(), shaped.getElementType())
                             << ", found " << bodyType;
  return success();
}

/// Results of a loop on tensors, or its destinations once bufferized.
static FailureOr<SmallVector<Type>> getWrittenTypes(Operation *op, ValueRange destinations,
                                                    unsigned expected) {
  bool bufferized = !destinations.empty();
  if (bufferized && op->getNumResults() != 0) {
    op->emitOpError() << "must have either results or destinations, found " << op->getNumResults()
                      << " results and " << destinations.size() << " destinations";
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

static LogicalResult verifyArgumentCount(Operation *op, Block &body, size_t expected) {
  if (body.getNumArguments() != expected)
    return op->emitOpError() << "body must have " << expected
                             << " arguments, one for each sequence, state and capture, found "
                             << body.getNumArguments();
  return success();
}

LogicalResult RecurrenceOp::verify() {
  std::optional<int64_t> lanes = getLanes();
  Block &body = getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  size_t numSequences = getSequences().size(), numStates = getInitial().size();
  if (failed(verifyLanes(*this, lanes)) ||
      failed(verifyArgumentCount(*this, body, numSequences + numStates + getCaptures().size())))
    return failure();
  if (numSequences == 0)
    return emitOpError("needs at least one sequence to know the number of steps");
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

/// The verifier of `chain` and `scan`.
template <typename LoopOp> static LogicalResult verifyCotangentLoop(LoopOp op) {
  std::optional<int64_t> lanes = op.getLanes();
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  size_t numSaved = op.getSaved().size(), numStates = op.getSeeds().size();
  if (failed(verifyLanes(op, lanes)) ||
      failed(verifyArgumentCount(op, body, numSaved + numStates + op.getCaptures().size())))
    return failure();
  if (numSaved == 0)
    return op.emitOpError("needs at least one saved sequence to know the number of steps");
  if (numStates == 0)
    return op.emitOpError("needs at least one state");
  if (yield.getNumOperands() < numStates)
    return op.emitOpError() << "must yield the cotangents of " << numStates << " states, found "
                            << yield.getNumOperands() << " values";
  if (op.getInjected().size() != op.getInjectInto().size())
    return op.emitOpError() << "needs one state index for each injected sequence, found "
                            << op.getInjectInto().size() << " indices for "
                            << op.getInjected().size() << " sequences";
  FailureOr<SmallVector<Type>> written =
      getWrittenTypes(op, op.getDestinations(), yield.getNumOperands());
  if (failed(written))
    return failure();

  LoopExtent extent;
  auto arguments = body.getArgumentTypes();
  for (auto [i, value] : llvm::enumerate(op.getSaved()))
    if (failed(verifyArray(op, {value.getType(), "saved sequence", true, 0}, arguments[i], lanes,
                           extent)))
      return failure();
  for (auto [i, value] : llvm::enumerate(op.getSeeds()))
    if (failed(verifyArray(op, {value.getType(), "seed", false, 0}, arguments[numSaved + i], lanes,
                           extent)))
      return failure();
  for (auto [value, state] : llvm::zip(op.getInjected(), op.getInjectInto())) {
    if (state < 0 || state >= static_cast<int64_t>(numStates))
      return op.emitOpError() << "inject_into must name one of the " << numStates
                              << " states, found " << state;
    if (failed(verifyArray(op, {value.getType(), "injected sequence", true, 0},
                           arguments[numSaved + state], lanes, extent)))
      return failure();
  }
  for (auto [i, value] : llvm::enumerate(op.getCaptures()))
    if (failed(verifyCapture(op, value.getType(), arguments[numSaved + numStates + i])))
      return failure();
  for (auto [i, type] : llvm::enumerate(*written)) {
    bool isState = i < numStates;
    if (isState && yield.getOperand(i).getType() != arguments[numSaved + i])
      return op.emitOpError() << "the cotangent of state " << i << " must keep its type "
                              << arguments[numSaved + i] << ", found "
                              << yield.getOperand(i).getType();
    if (failed(verifyArray(op, {type, isState ? "cotangent" : "emitted sequence", !isState, 0},
                           yield.getOperand(i).getType(), lanes, extent)))
      return failure();
  }
  return success();
}

LogicalResult ChainOp::verify() { return verifyCotangentLoop(*this); }
LogicalResult ScanOp::verify() { return verifyCotangentLoop(*this); }

//===----------------------------------------------------------------------===//
// Ops of a body
//===----------------------------------------------------------------------===//

LogicalResult MatVecOp::verify() {
  auto matrix = cast<VectorType>(getMatrix().getType());
  int64_t rows = matrix.getDimSize(getTransposed() ? 1 : 0);
  int64_t cols = matrix.getDimSize(getTransposed() ? 0 : 1);
  auto vector = cast<VectorType>(getVector().getType());
  auto result = cast<VectorType>(getType());
  if (vector.getDimSize(0) != cols || result.getDimSize(0) != rows)
    return emitOpError() << "a " << rows << "x" << cols << (getTransposed() ? " transposed" : "")
                         << " matrix maps vector<" << cols << "> to vector<" << rows << ">, found "
                         << vector << " to " << result;
  if (getAddend() && getAddend().getType() != result)
    return emitOpError() << "the addend must have the type of the result " << result << ", found "
                         << getAddend().getType();
  if (matrix.getElementType() != result.getElementType() ||
      vector.getElementType() != result.getElementType())
    return emitOpError() << "needs one element type, found " << matrix << ", " << vector << " and "
                         << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Leaves and layout
//===----------------------------------------------------------------------===//

/// The written array of an op with an optional destination: exactly one of
/// result and destination must be there.
static FailureOr<ShapedType> getWrittenType(Operation *op, Value destination) {
  if ((op->getNumResults() == 1) == static_cast<bool>(destination)) {
    op->emitOpError("must have either a result or a destination");
    return failure();
  }
  return cast<ShapedType>(destination ? destination.getType() : op->getResult(0).getType());
}

/// The features N of a sequence `[T, B, N]` or `[NB, T, N, L]`; fails after a
/// diagnostic.
static FailureOr<int64_t> getSequenceFeatures(Operation *op, Type type,
                                              std::optional<int64_t> lanes) {
  auto shaped = cast<ShapedType>(type);
  int64_t rank = lanes ? 4 : 3;
  if (shaped.getRank() != rank || (lanes && shaped.getShape().back() != *lanes)) {
    InFlightDiagnostic diagnostic = op->emitOpError() << "a sequence must have rank " << rank;
    if (lanes)
      diagnostic << " and " << *lanes << " lanes in its last dimension";
    diagnostic << ", found " << type;
    return failure();
  }
  return shaped.getShape()[2];
}

/// Checks that the number of samples is given to packed sequences only.
template <typename LeafOp> static LogicalResult verifyBatch(LeafOp op) {
  if (op.getBatch() && !op.getLanes())
    return op.emitOpError("has a batch but no lanes; a plain sequence has its number of samples "
                          "in its type");
  return success();
}

LogicalResult OuterSumOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  FailureOr<int64_t> rows = getSequenceFeatures(*this, getLhs().getType(), getLanes());
  FailureOr<int64_t> cols = getSequenceFeatures(*this, getRhs().getType(), getLanes());
  if (failed(result) || failed(rows) || failed(cols) || failed(verifyBatch(*this)))
    return failure();
  if (result->getRank() != 2 || result->getShape()[0] != *rows || result->getShape()[1] != *cols)
    return emitOpError() << "needs a result of shape " << *rows << "x" << *cols << ", found "
                         << *result;
  return success();
}

LogicalResult StepSumOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  FailureOr<int64_t> features = getSequenceFeatures(*this, getSequence().getType(), getLanes());
  if (failed(result) || failed(features) || failed(verifyBatch(*this)))
    return failure();
  if (result->getRank() != 1 || result->getShape()[0] != *features)
    return emitOpError() << "needs a result of shape " << *features << ", found " << *result;
  return success();
}

/// Checks that `packed` is `plain` packed into `lanes`.
static LogicalResult verifyPacking(Operation *op, ShapedType plain, ShapedType packed,
                                   int64_t lanes) {
  if (lanes <= 0)
    return op->emitOpError() << "lanes must be positive, found " << lanes;
  int64_t rank = plain.getRank();
  if (rank != 2 && rank != 3)
    return op->emitOpError() << "packs arrays of rank 2 or 3, found " << plain;
  int64_t batch = plain.getShape()[rank - 2];
  SmallVector<int64_t> expected = {ShapedType::isDynamic(batch) ? ShapedType::kDynamic
                                                                : (batch + lanes - 1) / lanes};
  if (rank == 3)
    expected.push_back(plain.getShape()[0]);
  expected.append({plain.getShape().back(), lanes});
  if (packed.getShape() != ArrayRef<int64_t>(expected) ||
      packed.getElementType() != plain.getElementType())
    return op->emitOpError() << plain << " in " << lanes << " lanes is packed as "
                             << RankedTensorType::get(expected, plain.getElementType())
                             << ", found " << packed;
  return success();
}

LogicalResult PackLanesOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  if (failed(result))
    return failure();
  return verifyPacking(*this, cast<ShapedType>(getSource().getType()), *result, getLanes());
}

LogicalResult UnpackLanesOp::verify() {
  FailureOr<ShapedType> result = getWrittenType(*this, getDestination());
  if (failed(result))
    return failure();
  return verifyPacking(*this, *result, cast<ShapedType>(getSource().getType()), getLanes());
}

//===----------------------------------------------------------------------===//
// Explicit scan trees
//===----------------------------------------------------------------------===//

/// Checks the cotangents that the link of `op` takes and yields, and that there
/// is one matrix a sample exactly where it depends on the sample.
static LogicalResult verifyLinearizedStates(LinearizeOp op) {
  Block &body = op.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  auto type = cast<JacobianType>(op.getResult().getType());
  if (yield.getNumOperands() != op.getStates().size())
    return op.emitOpError() << "must yield the cotangents of " << op.getStates().size()
                            << " states and nothing else, found " << yield.getNumOperands()
                            << " values";
  for (auto [i, size] : llvm::enumerate(op.getStates())) {
    auto expected = VectorType::get(size, type.getElementType());
    Type taken = body.getArgument(op.getSaved().size() + i).getType();
    Type given = yield.getOperand(i).getType();
    if (taken != expected || given != expected)
      return op.emitOpError() << "the cotangent of state " << i << " must have type " << expected
                              << ", found " << taken << " to " << given;
  }
  if (type.getBatch().has_value() == op.getSaved().empty())
    return op.emitOpError() << "needs a jacobian with a batch exactly where it reads saved arrays, "
                               "found "
                            << type << " and " << op.getSaved().size() << " saved arrays";
  return success();
}

LogicalResult LinearizeOp::verify() {
  Block &body = getBody().front();
  int64_t size = 0;
  for (int64_t state : getStates())
    size += state;
  auto type = cast<JacobianType>(getResult().getType());
  if (type.getRows() != size || type.getCols() != size)
    return emitOpError() << "states of " << size << " values in all need a " << size << "x" << size
                         << " jacobian, found " << type;
  if (failed(verifyArgumentCount(*this, body,
                                 getSaved().size() + getStates().size() + getCaptures().size())))
    return failure();
  for (auto [i, value] : llvm::enumerate(getSaved())) {
    auto shaped = cast<ShapedType>(value.getType());
    if (shaped.getRank() != 2 ||
        body.getArgument(i).getType() !=
            VectorType::get(shaped.getShape().back(), shaped.getElementType()))
      return emitOpError() << "saved array " << shaped
                           << " must have rank 2 and give a vector of its last dimension, found "
                           << body.getArgument(i).getType();
  }
  for (auto [i, value] : llvm::enumerate(getCaptures()))
    if (failed(
            verifyCapture(*this, value.getType(),
                          body.getArgument(getSaved().size() + getStates().size() + i).getType())))
      return failure();
  return verifyLinearizedStates(*this);
}

LogicalResult ComposeOp::verify() {
  auto first = cast<JacobianType>(getFirst().getType());
  auto second = cast<JacobianType>(getSecond().getType());
  auto result = cast<JacobianType>(getType());
  if (second.getCols() != first.getRows())
    return emitOpError() << "the second jacobian must have as many columns as the first has rows ("
                         << first.getRows() << "), found " << second.getCols();
  if (result.getRows() != second.getRows() || result.getCols() != first.getCols())
    return emitOpError() << "the product must be " << second.getRows() << "x" << first.getCols()
                         << ", found " << result.getRows() << "x" << result.getCols();
  if (result.getBatch().has_value() != (first.getBatch() || second.getBatch()))
    return emitOpError() << "the product has a batch exactly where a factor has one, found "
                         << result;
  auto structure = StructureAttr::product(StructureAttr::get(getContext(), second.getStructure()),
                                          StructureAttr::get(getContext(), first.getStructure()));
  if (result.getStructure() != structure.getKind() && result.getStructure() != StructureKind::Dense)
    return emitOpError() << "the product of " << stringifyStructureKind(second.getStructure())
                         << " and " << stringifyStructureKind(first.getStructure()) << " is "
                         << stringifyStructureKind(structure.getKind()) << ", found "
                         << stringifyStructureKind(result.getStructure());
  return success();
}

LogicalResult ApplyOp::verify() {
  auto jacobian = cast<JacobianType>(getJacobian().getType());
  auto cotangent = cast<RankedTensorType>(getCotangent().getType());
  auto result = cast<RankedTensorType>(getType());
  if (cotangent.getRank() != 2 || cotangent.getDimSize(1) != jacobian.getCols())
    return emitOpError() << "needs a cotangent of shape [batch, " << jacobian.getCols()
                         << "], found " << cotangent;
  if (result.getRank() != 2 || result.getDimSize(1) != jacobian.getRows() ||
      result.getDimSize(0) != cotangent.getDimSize(0))
    return emitOpError() << "needs a result of shape [batch, " << jacobian.getRows() << "], found "
                         << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Graph level
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0.0 && ratio < 1.0))
    return emitOpError() << "needs a ratio of at least 0 and less than 1, found " << ratio;
  if (!isa<FloatType>(getType().getElementType()))
    return emitOpError() << "needs a float tensor, found " << getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Side effects: none on tensors; reads and writes once bufferized
//===----------------------------------------------------------------------===//

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static void getBufferEffects(MutableArrayRef<OpOperand> read, MutableArrayRef<OpOperand> written,
                             Effects &effects) {
  for (OpOperand &operand : read)
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  for (OpOperand &operand : written)
    effects.emplace_back(MemoryEffects::Write::get(), &operand,
                         SideEffects::DefaultResource::get());
}

/// Effects of an op whose destinations are the operands `destinations`.
static void getLoopEffects(Operation *op, MutableOperandRange destinations, Effects &effects) {
  SmallVector<unsigned> written;
  for (OpOperand &operand : destinations)
    written.push_back(operand.getOperandNumber());
  for (OpOperand &operand : op->getOpOperands())
    if (!llvm::is_contained(written, operand.getOperandNumber()))
      getBufferEffects(MutableArrayRef(&operand, 1), {}, effects);
  for (OpOperand &operand : destinations)
    getBufferEffects({}, MutableArrayRef(&operand, 1), effects);
}

void RecurrenceOp::getEffects(Effects &effects) {
  getLoopEffects(*this, getDestinationsMutable(), effects);
}
void ChainOp::getEffects(Effects &effects) {
  getLoopEffects(*this, getDestinationsMutable(), effects);
}
void ScanOp::getEffects(Effects &effects) {
  getLoopEffects(*this, getDestinationsMutable(), effects);
}
void OuterSumOp::getEffects(Effects &effects) {
  getLoopEffects(*this, getDestinationMutable(), effects);
}
void StepSumOp::getEffects(Effects &effects) {
  getLoopEffects(*this, getDestinationMutable(), effects);
}
void PackLanesOp::getEffects(Effects &effects) {
  getLoopEffects(*this, getDestinationMutable(), effects);
}
void UnpackLanesOp::getEffects(Effects &effects) {
  getLoopEffects(*this, getDestinationMutable(), effects);
}
