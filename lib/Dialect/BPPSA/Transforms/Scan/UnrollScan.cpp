//===- UnrollScan.cpp - scans as straight-line code -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Emits the products of a scan plan as `jacobian` operations.
//
// With cotangents s[k] injected before link k, the cotangent that enters link k + 1 is e[k+1] =
// J[k] e[k] + s[k+1]. Elements are therefore the seed plus s[1] and affine pairs (J[k], s[k+1]).
// The product of (A, a), applied first, and (B, b) is (B A, B a + b).
//
//===----------------------------------------------------------------------===//

#include "ScanLoops.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include <numeric>

using namespace mlir;
using namespace bppsa;

namespace {
/// A vector, in `offset`, or an affine pair.
struct ScanElement {
  /// Null for a vector.
  Value jacobian;
  /// Null if zero.
  Value offset;
};

class ScanExpander {
public:
  ScanExpander(ChainOp chain, const ScanSchedule &schedule);

  void run();

private:
  /// `link` is 1 to n.
  int64_t getStep(int64_t link) { return chain.getReverse() ? link - 1 : numLinks - link; }
  int64_t getStateOffset(size_t state) const {
    return std::accumulate(stateSizes.begin(), stateSizes.begin() + state, int64_t(0));
  }
  /// Returns `[B, N]`.
  Value getSlice(Value sequence, int64_t step);
  Value castTo(Value value, Type type);
  /// Null operands are zero.
  Value add(Value lhs, Value rhs);
  /// Casts to the batch dimension of the first seed.
  SmallVector<Value> getSeeds();
  /// Returns `[B, sum of N]`.
  Value concatStates(ValueRange states);
  Value getState(Value all, size_t state);
  /// Returns null if nothing is injected before link `link`.
  Value getInjected(int64_t link);
  Value linearize(int64_t link);
  /// Leaves are created when first read.
  ScanElement &getElement(int64_t value);
  void execute(ScanOperation op);
  ValueRange recomputeEmitted();
  void makeRecomputedBody(RecurrenceOp recurrence);

  ChainOp chain;
  const ScanSchedule &schedule;
  int64_t numLinks;
  OpBuilder builder;
  Location loc;
  SmallVector<int64_t> stateSizes;
  Type elementType;
  OpFoldResult batch;
  int64_t batchDim;
  jacobian::MatrixType linkType;
  std::vector<ScanElement> elements;
};
} // namespace

ScanExpander::ScanExpander(ChainOp chain, const ScanSchedule &schedule)
    : chain(chain), schedule(schedule), numLinks(schedule.getNumLinks()), builder(chain),
      loc(chain.getLoc()), elements(schedule.getNumValues()) {
  for (Value seed : chain.getSeeds())
    stateSizes.push_back(cast<RankedTensorType>(seed.getType()).getDimSize(1));
  Value seed = chain.getSeeds().front();
  elementType = cast<RankedTensorType>(seed.getType()).getElementType();
  batch = tensor::getMixedSize(builder, loc, seed, 0);
  batchDim = cast<RankedTensorType>(seed.getType()).getDimSize(0);
  int64_t size = getStateOffset(stateSizes.size());
  linkType = jacobian::MatrixType::get(builder.getContext(), size, size, elementType,
                                       *chain.getStructure(), batchDim);
}

Value ScanExpander::getSlice(Value sequence, int64_t step) {
  int64_t features = cast<RankedTensorType>(sequence.getType()).getDimSize(2);
  auto type = RankedTensorType::get({batchDim, features}, getElementTypeOrSelf(sequence));
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      builder, loc, type, sequence, ArrayRef{OpFoldResult(builder.getIndexAttr(step)), zero, zero},
      ArrayRef{one, batch, OpFoldResult(builder.getIndexAttr(features))}, ArrayRef{one, one, one});
}

Value ScanExpander::castTo(Value value, Type type) {
  return value.getType() == type ? value : tensor::CastOp::create(builder, loc, type, value);
}

Value ScanExpander::add(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AddFOp::create(builder, loc, lhs, rhs);
}

SmallVector<Value> ScanExpander::getSeeds() {
  SmallVector<Value> seeds;
  for (auto [seed, size] : llvm::zip(chain.getSeeds(), stateSizes))
    seeds.push_back(castTo(seed, RankedTensorType::get({batchDim, size}, elementType)));
  return seeds;
}

Value ScanExpander::concatStates(ValueRange states) {
  if (states.size() == 1)
    return states.front();
  return tensor::ConcatOp::create(builder, loc, /*dim=*/1, states);
}

Value ScanExpander::getState(Value all, size_t state) {
  if (stateSizes.size() == 1)
    return all;
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  OpFoldResult offset = builder.getIndexAttr(getStateOffset(state));
  OpFoldResult size = builder.getIndexAttr(stateSizes[state]);
  return tensor::ExtractSliceOp::create(builder, loc, all, ArrayRef{zero, offset},
                                        ArrayRef{batch, size}, ArrayRef{one, one});
}

Value ScanExpander::getInjected(int64_t link) {
  if (chain.getInjected().empty() || link > numLinks)
    return {};
  SmallVector<Value> sums(stateSizes.size());
  for (auto [sequence, state] : llvm::zip(chain.getInjected(), chain.getInjectInto()))
    sums[state] = add(sums[state], getSlice(sequence, getStep(link)));
  for (auto [sum, size] : llvm::zip(sums, stateSizes)) {
    if (sum)
      continue;
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(elementType));
    Value empty = tensor::EmptyOp::create(
        builder, loc, ArrayRef{batch, OpFoldResult(builder.getIndexAttr(size))}, elementType);
    sum = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
  }
  return concatStates(sums);
}

Value ScanExpander::linearize(int64_t link) {
  SmallVector<Value> saved;
  for (Value sequence : chain.getSaved())
    saved.push_back(getSlice(sequence, getStep(link)));
  auto op =
      jacobian::LinearizeOp::create(builder, loc, linkType, saved, chain.getCaptures(), stateSizes);
  IRMapping mapping;
  chain.getBody().cloneInto(&op.getBody(), mapping);
  Operation *yield = op.getBody().front().getTerminator();
  OpBuilder atEnd(yield);
  jacobian::YieldOp::create(atEnd, loc, yield->getOperands().take_front(stateSizes.size()));
  yield->erase();
  return op.getResult();
}

ScanElement &ScanExpander::getElement(int64_t value) {
  ScanElement &element = elements[value];
  bool isLeaf = value <= numLinks, isMade = element.jacobian || element.offset;
  if (!isLeaf || isMade)
    return element;
  if (value == 0)
    element.offset = add(concatStates(getSeeds()), getInjected(1));
  else
    element = {linearize(value), getInjected(value + 1)};
  return element;
}

void ScanExpander::execute(ScanOperation op) {
  ScanElement left = getElement(op.left);
  ScanElement &out = elements[op.out];
  if (op.kind == ScanOperation::Kind::Copy) {
    out = left;
    return;
  }
  ScanElement right = getElement(op.right);
  if (op.kind == ScanOperation::Kind::Compose) {
    auto type = jacobian::MatrixType::compose(cast<jacobian::MatrixType>(left.jacobian.getType()),
                                              cast<jacobian::MatrixType>(right.jacobian.getType()));
    out.jacobian = jacobian::ComposeOp::create(builder, loc, type, left.jacobian, right.jacobian);
  }
  Value offset;
  if (left.offset)
    offset =
        jacobian::ApplyOp::create(builder, loc, left.offset.getType(), right.jacobian, left.offset);
  out.offset = add(offset, right.offset);
}

void ScanExpander::makeRecomputedBody(RecurrenceOp recurrence) {
  IRMapping mapping;
  chain.getBody().cloneInto(&recurrence.getBody(), mapping);
  auto yield = cast<YieldOp>(recurrence.getBody().front().getTerminator());
  yield.getValuesMutable().assign(yield.getValues().drop_front(stateSizes.size()));
}

ValueRange ScanExpander::recomputeEmitted() {
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<Value> sequences(chain.getSaved());
  for (auto [state, size] : llvm::enumerate(stateSizes)) {
    OpFoldResult features = builder.getIndexAttr(size);
    Value sequence = tensor::EmptyOp::create(
        builder, loc, ArrayRef{OpFoldResult(builder.getIndexAttr(numLinks)), batch, features},
        elementType);
    for (int64_t link = 1; link <= numLinks; ++link) {
      OpFoldResult step = builder.getIndexAttr(getStep(link));
      Value entering = getState(getElement(schedule.getEntering(link)).offset, state);
      sequence = tensor::InsertSliceOp::create(
          builder, loc, entering, sequence, ArrayRef{step, zero, zero},
          ArrayRef{one, batch, features}, ArrayRef{one, one, one});
    }
    sequences.push_back(sequence);
  }
  auto recurrence = RecurrenceOp::create(builder, loc, /*trajectories=*/TypeRange(),
                                         chain.getEmitted().getTypes(), sequences,
                                         /*initial=*/ValueRange(), chain.getCaptures());
  makeRecomputedBody(recurrence);
  return recurrence.getOutputs();
}

void ScanExpander::run() {
  for (const ScanLevel &level : schedule.getLevels())
    for (ScanOperation op : level.operations)
      execute(op);
  if (schedule.getInitial() >= 0) {
    Value initial = getElement(schedule.getInitial()).offset;
    for (auto [state, result] : llvm::enumerate(chain.getCotangents()))
      result.replaceAllUsesWith(castTo(getState(initial, state), result.getType()));
  }
  if (!chain.getEmitted().empty())
    chain.getEmitted().replaceAllUsesWith(recomputeEmitted());
  chain.erase();
}

void bppsa::unrollScan(ChainOp chain, const ScanSchedule &schedule) {
  ScanExpander(chain, schedule).run();
}
