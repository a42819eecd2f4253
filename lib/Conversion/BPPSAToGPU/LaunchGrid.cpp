//===- LaunchGrid.cpp - recurrences and chains whose rows blocks share ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Bodies/BodyRewrites.h"
#include "BPPSAToGPU.h"
#include "BlockWalk.h"
#include "GridWalk.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Recurrences
//===----------------------------------------------------------------------===//

Value bppsa::getRecurrenceStep(OpBuilder &builder, RecurrenceOp op, Value numSteps,
                               Value position) {
  if (!op.getReverse())
    return position;
  Location loc = op.getLoc();
  return addIndex(builder, loc, arith::SubIOp::create(builder, loc, numSteps, position), -1);
}

namespace {
/// A recurrence without products of what it reads: those of all steps are computed before it,
/// so that a step waits for nothing but its states.
class RecurrenceGrid {
public:
  RecurrenceGrid(RecurrenceOp op, TensorPrecision precision)
      : op(op), precision(precision), loc(op.getLoc()), builder(op),
        numSequences(op.getSequences().size()), numStates(op.getInitial().size()) {}

  bool launch() {
    OpBuilder::InsertionGuard guard(builder);
    auto rest = cast<RecurrenceOp>(builder.clone(*op));
    takeOutProducts(rest.getBody().front());
    bool isLaunched = launchWalk(rest.getBody().front());
    rest.erase();
    return isLaunched;
  }

private:
  /// Products of sequences become further arguments behind the sequences.
  void takeOutProducts(Block &body) {
    SmallVector<MatVecOp> found;
    for (auto product : body.getOps<MatVecOp>()) {
      auto vector = dyn_cast<BlockArgument>(product.getVector());
      auto matrix = dyn_cast<BlockArgument>(product.getMatrix());
      if (vector && matrix && vector.getArgNumber() < numSequences)
        found.push_back(product);
    }
    for (MatVecOp product : found) {
      unsigned vector = cast<BlockArgument>(product.getVector()).getArgNumber();
      unsigned matrix = cast<BlockArgument>(product.getMatrix()).getArgNumber();
      unsigned firstCapture = numSequences + inputs.size() + numStates;
      Type type = product.getResult().getType();
      Value read = body.insertArgument(numSequences + inputs.size(), type, product.getLoc());
      inputs.push_back({vector, matrix - firstCapture, product.getTransposed(), type});
      OpBuilder inside(product);
      if (product.getAddend())
        read = arith::AddFOp::create(inside, product.getLoc(), read, product.getAddend());
      product.getResult().replaceAllUsesWith(read);
      product.erase();
    }
  }

  bool launchWalk(Block &body) {
    FailureOr<BodyPlan> plan = BodyPlan::create(body, op.getCaptures().size());
    if (failed(plan) || numStates == 0)
      return false;
    auto walk =
        GridWalk::create(*plan, body, op.getCaptures(), numSequences + inputs.size(), numStates);
    if (!walk || failed(launchProducts()))
      return false;
    walk->launch(builder, describe());
    for (Value product : products)
      memref::DeallocOp::create(builder, loc, product);
    return true;
  }

  /// A loop without states has the products of all steps.
  LogicalResult launchProducts() {
    Value first = op.getSequences()[0];
    SmallVector<Value> sizes = {getDim(builder, loc, first, 0), getDim(builder, loc, first, 1)};
    SmallVector<Value> sequences, captures;
    for (const Input &input : inputs) {
      auto type = MemRefType::get(
          {ShapedType::kDynamic, ShapedType::kDynamic, cast<VectorType>(input.type).getDimSize(0)},
          builder.getF32Type());
      products.push_back(
          memref::AllocOp::create(builder, loc, type, sizes, builder.getI64IntegerAttr(64)));
      sequences.push_back(op.getSequences()[input.vector]);
      captures.push_back(op.getCaptures()[input.matrix]);
    }
    if (inputs.empty())
      return success();
    auto loop = RecurrenceOp::create(builder, loc, TypeRange(), TypeRange(), sequences,
                                     ValueRange(), captures, products, /*reverse=*/false,
                                     /*lanes=*/IntegerAttr());
    buildProducts(loop);
    LogicalResult result = launchRecurrence(loop, precision);
    loop.erase();
    return result;
  }

  void buildProducts(RecurrenceOp loop) {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&loop.getBody());
    Block &whole = op.getBody().front();
    unsigned firstCapture = numSequences + numStates;
    for (const Input &input : inputs)
      body->addArgument(whole.getArgument(input.vector).getType(), loc);
    for (const Input &input : inputs)
      body->addArgument(whole.getArgument(firstCapture + input.matrix).getType(), loc);
    SmallVector<Value> results;
    for (auto [i, input] : llvm::enumerate(inputs))
      results.push_back(MatVecOp::create(builder, loc, input.type,
                                         body->getArgument(inputs.size() + i), body->getArgument(i),
                                         /*addend=*/Value(), input.isTransposed));
    YieldOp::create(builder, loc, results);
  }

  GridLoop describe() {
    GridLoop loop;
    loop.op = op;
    loop.numSteps = getDim(builder, loc, op.getSequences()[0], 0);
    loop.numSamples = getDim(builder, loc, op.getSequences()[0], 1);
    Value numSteps = loop.numSteps;
    loop.getSource = [this, numSteps](OpBuilder &nested, unsigned argument, Value position,
                                      Value sample) {
      Value source =
          argument < numSequences ? op.getSequences()[argument] : products[argument - numSequences];
      return Place{source, {getRecurrenceStep(nested, op, numSteps, position), sample}};
    };
    loop.getTargets = [this, numSteps](OpBuilder &nested, unsigned result, Value position,
                                       Value sample) -> GridLoop::Places {
      Value step = getRecurrenceStep(nested, op, numSteps, position);
      if (result < numStates && !op.getReverse())
        step = addIndex(nested, loc, position, 1);
      return {Place{op.getDestinations()[result], {step, sample}}};
    };
    loop.getStart = [this](OpBuilder &, unsigned state, Value sample) {
      return Place{op.getInitial()[state], {sample}};
    };
    loop.getStartCopies = [this, numSteps](OpBuilder &nested, unsigned state,
                                           Value sample) -> GridLoop::Places {
      Value start = op.getReverse() ? numSteps : getIndex(nested, loc, 0);
      return {Place{op.getDestinations()[state], {start, sample}}};
    };
    loop.getEnds = [](OpBuilder &, unsigned, Value) { return GridLoop::Places(); };
    return loop;
  }

  /// A product that was taken out: the numbers of its sequence and captured matrix.
  struct Input {
    unsigned vector, matrix;
    bool isTransposed;
    Type type;
  };

  RecurrenceOp op;
  TensorPrecision precision;
  Location loc;
  OpBuilder builder;
  unsigned numSequences, numStates;
  SmallVector<Input> inputs;
  /// Their results `[step, sample, row]`.
  SmallVector<Value> products;
};
} // namespace

bool bppsa::launchOnGrid(RecurrenceOp op, TensorPrecision precision) {
  FailureOr<BodyPlan> plan = BodyPlan::create(op.getBody().front(), op.getCaptures().size());
  return succeeded(plan) && !UnitEmitter::fitsRegisters(*plan) &&
         RecurrenceGrid(op, precision).launch();
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

static GridLoop describe(OpBuilder &builder, const CotangentLoop &loop) {
  unsigned numSaved = loop.saved.size(), numStates = loop.seeds.size();
  GridLoop grid;
  grid.op = loop.op;
  grid.numSteps = countSteps(builder, loop);
  grid.numSamples = countSamples(builder, loop);
  grid.getSource = [=](OpBuilder &nested, unsigned argument, Value position, Value sample) {
    Value source =
        argument < numSaved ? loop.saved[argument] : loop.injected[argument - numSaved - numStates];
    return Place{source, {getStep(nested, loop, position), sample}};
  };
  grid.getTargets = [=](OpBuilder &nested, unsigned result, Value position,
                        Value sample) -> GridLoop::Places {
    if (result < numStates)
      return {};
    return {Place{loop.destinations[result], {getStep(nested, loop, position), sample}}};
  };
  grid.getStart = [=](OpBuilder &, unsigned state, Value sample) {
    return Place{loop.seeds[state], {sample}};
  };
  grid.getStartCopies = [](OpBuilder &, unsigned, Value) { return GridLoop::Places(); };
  grid.getEnds = [=](OpBuilder &, unsigned state, Value sample) -> GridLoop::Places {
    return {Place{loop.destinations[state], {sample}}};
  };
  return grid;
}

bool bppsa::launchOnGrid(const CotangentLoop &loop) {
  std::unique_ptr<Region> link = cloneLink(loop, {});
  Block &body = link->front();
  FailureOr<BodyPlan> plan = BodyPlan::create(body, loop.captures.size());
  if (failed(plan) || UnitEmitter::fitsRegisters(*plan))
    return false;
  auto walk = GridWalk::create(*plan, body, loop.captures, loop.saved.size(), loop.seeds.size());
  if (!walk)
    return false;
  OpBuilder builder(loop.op);
  walk->launch(builder, describe(builder, loop));
  return true;
}
