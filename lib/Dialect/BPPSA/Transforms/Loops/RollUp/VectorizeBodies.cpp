//===- VectorizeBodies.cpp - vectorizes bodies in graph form --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowWiseBody.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace bppsa {
#define GEN_PASS_DEF_VECTORIZEBODIES
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Reshapes `[leading..., d...]` to `[leading..., N]` or back.
static Value reshapeElements(OpBuilder &builder, Value array, RankedTensorType type,
                             int64_t leading) {
  auto before = cast<RankedTensorType>(array.getType());
  if (before == type)
    return array;
  bool isCollapsed = before.getRank() > type.getRank();
  int64_t rank = std::max(before.getRank(), type.getRank());
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < leading; ++i)
    groups.push_back({i});
  bool hasElements = std::min(before.getRank(), type.getRank()) > leading;
  if (hasElements)
    groups.emplace_back();
  for (int64_t i = leading; i < rank; ++i)
    groups.back().push_back(i);
  if (isCollapsed)
    return tensor::CollapseShapeOp::create(builder, array.getLoc(), type, array, groups);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, array.getLoc(), array);
  sizes.resize(leading);
  for (int64_t size : type.getShape().drop_front(leading))
    sizes.push_back(builder.getIndexAttr(size));
  return tensor::ExpandShapeOp::create(builder, array.getLoc(), type, array, groups, sizes);
}

static RankedTensorType getFlatType(Type type, int64_t leading) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape().take_front(leading));
  shape.push_back(ShapedType::getNumElements(tensor.getShape().drop_front(leading)));
  return RankedTensorType::get(shape, tensor.getElementType());
}

static void eraseUnusedBefore(Operation *op) {
  while (Operation *before = op->getPrevNode()) {
    if (!isOpTriviallyDead(before))
      return;
    before->erase();
  }
}

namespace {
/// Splits a loop into a vector loop of the states and a stateless loop of the outputs, which is
/// parallel in time.
class LoopVectorizer {
public:
  explicit LoopVectorizer(RecurrenceOp loop)
      : builder(loop), loop(loop), graph(loop.getBody().front()),
        numStates(loop.getInitial().size()) {}
  bool run();

private:
  LogicalResult makeStates();
  LogicalResult makeOutputs();
  Value createStepCountSequence();
  /// Returns the states before or after each step, `[steps, rows, N]`.
  Value getStates(unsigned state, bool isAfter);
  Value flatten(Value array, int64_t leading) {
    return reshapeElements(builder, array, getFlatType(array.getType(), leading), leading);
  }
  static Type getType(Type type) { return getFlatType(type, 2); }

  OpBuilder builder;
  RecurrenceOp loop;
  Block &graph;
  unsigned numStates;
  SmallVector<Value> trajectories, outputs;
};
} // namespace

/// Creates a sequence of zeros that gives a loop without sequences its number of steps.
Value LoopVectorizer::createStepCountSequence() {
  Location loc = loop.getLoc();
  OpFoldResult rows = tensor::getMixedSize(builder, loc, loop.getInitial()[0], 0);
  OpFoldResult sizes[] = {getAsOpFoldResult(loop.getSteps()), rows, builder.getIndexAttr(1)};
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, builder.getF32Type());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

Value LoopVectorizer::getStates(unsigned state, bool isAfter) {
  Location loc = loop.getLoc();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, trajectories[state]);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  sizes[0] = loop.getSequences().empty()
                 ? getAsOpFoldResult(loop.getSteps())
                 : tensor::getMixedSize(builder, loc, loop.getSequences()[0], 0);
  offsets[0] = builder.getIndexAttr(isAfter != loop.getReverse());
  return tensor::ExtractSliceOp::create(builder, loc, trajectories[state], offsets, sizes, strides);
}

LogicalResult LoopVectorizer::makeStates() {
  SmallVector<Value> inputs(graph.getArguments().drop_back(loop.getCaptures().size()));
  SmallVector<Value> roots(graph.getTerminator()->getOperands().take_front(numStates));
  RowWiseBody body(builder, loop, inputs);
  if (failed(body.run(roots)))
    return failure();
  SmallVector<Value> sequences, initial;
  for (Value sequence : loop.getSequences())
    sequences.push_back(flatten(sequence, 2));
  for (Value state : loop.getInitial())
    initial.push_back(flatten(state, 1));
  if (sequences.empty()) {
    sequences.push_back(createStepCountSequence());
    body.region.insertArgument(0u, VectorType::get(1, builder.getF32Type()), loop.getLoc());
  }
  auto types = llvm::map_to_vector(loop.getTrajectories().getTypes(), getType);
  auto made = RecurrenceOp::create(builder, loop.getLoc(), types, /*outputs=*/TypeRange(),
                                   sequences, initial, body.captures, {loop.getReverse()});
  made.getBody().takeBody(body.region);
  llvm::append_range(trajectories, made.getTrajectories());
  return success();
}

LogicalResult LoopVectorizer::makeOutputs() {
  ValueRange yielded = graph.getTerminator()->getOperands();
  ValueRange next = yielded.take_front(numStates);
  SmallVector<Value> inputs(graph.getArguments().drop_back(loop.getCaptures().size()));
  llvm::append_range(inputs, next);
  SmallVector<Value> roots;
  SmallVector<Type> types;
  for (auto [value, output] : llvm::zip_equal(yielded.drop_front(numStates), loop.getOutputs()))
    if (!llvm::is_contained(next, value)) {
      roots.push_back(value);
      types.push_back(getType(output.getType()));
    }
  ValueRange made;
  if (!roots.empty()) {
    RowWiseBody body(builder, loop, inputs);
    if (failed(body.run(roots)))
      return failure();
    unsigned numSequences = loop.getSequences().size();
    SmallVector<Value> sequences;
    for (unsigned i = 0, position = 0; i < inputs.size(); ++i) {
      // One sequence must remain for the number of steps.
      if (body.region.getArgument(position).use_empty() &&
          (i + 1 < inputs.size() || !sequences.empty())) {
        body.region.eraseArgument(position);
        continue;
      }
      ++position;
      unsigned state = (i - numSequences) % std::max(numStates, 1u);
      sequences.push_back(i < numSequences ? flatten(loop.getSequences()[i], 2)
                                           : getStates(state, i >= numSequences + numStates));
    }
    auto parallel = RecurrenceOp::create(builder, loop.getLoc(), /*trajectories=*/TypeRange(),
                                         types, sequences, /*initial=*/ValueRange(), body.captures);
    parallel.getBody().takeBody(body.region);
    made = parallel.getOutputs();
  }
  for (Value value : yielded.drop_front(numStates)) {
    auto it = llvm::find(next, value);
    if (it != next.end()) {
      outputs.push_back(getStates(it - next.begin(), /*isAfter=*/true));
      continue;
    }
    outputs.push_back(made.front());
    made = made.drop_front();
  }
  return success();
}

bool LoopVectorizer::run() {
  auto isFloat = [](Type type) { return cast<RankedTensorType>(type).getElementType().isF32(); };
  ValueRange inputs = graph.getArguments().drop_back(loop.getCaptures().size());
  if (!llvm::all_of(inputs.getTypes(), isFloat) || (numStates != 0 && failed(makeStates())) ||
      failed(makeOutputs())) {
    eraseUnusedBefore(loop);
    return false;
  }
  trajectories.append(outputs);
  for (auto [before, after] : llvm::zip_equal(loop.getResults(), trajectories))
    before.replaceAllUsesWith(
        reshapeElements(builder, after, cast<RankedTensorType>(before.getType()), 2));
  loop.erase();
  return true;
}

namespace {
struct VectorizeBodies : bppsa::impl::VectorizeBodiesBase<VectorizeBodies> {
  using VectorizeBodiesBase::VectorizeBodiesBase;

  void runOnOperation() override {
    SmallVector<RecurrenceOp> loops;
    getOperation().walk<WalkOrder::PreOrder>([&](RecurrenceOp loop) {
      if (loop.isGraphForm() && loop.getDestinations().empty())
        loops.push_back(loop);
      return WalkResult::skip();
    });
    for (RecurrenceOp loop : loops)
      if (LoopVectorizer(loop).run())
        ++numVectorized;
  }
};
} // namespace
