//===- ExpandToTree.cpp - Blelloch and hybrid scans as loops --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "FactoredLinks.h"
#include "ScanLoops.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// The tree of some rows
//===----------------------------------------------------------------------===//

namespace {
/// Emits the levels of a tree over the rows `rows`. The vector of element k lies where the step of
/// link k does, so that the vectors of links are a sequence at the end.
class TreeLoops : public IndexEmitter {
public:
  /// `links` makes the matrices of links of their factors; without it they are applied to columns.
  TreeLoops(const ChainArrays &arrays, IndexRange rows, const FactoredLinks *links);

  void beginSweep(Sweep) {}
  void inParallel(Value lower, Value upper, function_ref<void(Value)> body);
  void inOrder(Value lower, Value upper, Value step, function_ref<void(Value)> body);
  void linearize(Value link);
  void compose(Value left, Value right);
  void apply(Value matrix, Value from, Value to);
  void copy(Value from, Value to);
  void pushDown(Value left, Value right);

  /// The cotangents that enter the links, a sequence for each state.
  SmallVector<Value> getEntering();
  /// The cotangents that enter the last link, for each state.
  SmallVector<Value> getLastEntering();
  /// The step of `link`.
  Value getStep(Value link);

private:
  /// An array of the tree, and a window of it that an operation writes.
  struct Write {
    Value value;
    bool isMatrix;
    Value element;
  };

  ArrayWindow getWindow(bool isMatrix, Value element,
                        std::optional<IndexRange> elements = std::nullopt);
  Value getElement(bool isMatrix, Value element) {
    return arrays.extract(isMatrix ? matrices : vectors, getWindow(isMatrix, element));
  }
  void setElement(Write write);
  Value createApply(Value matrix, Value cotangent, Value into);
  const FactoredLinks *links;
  IndexRange rows;
  /// Of the arrays of the tree, which hold these rows alone.
  IndexRange ownRows;
  Value matrices, vectors;
  /// What an iteration of a parallel loop writes; nothing outside of one.
  std::optional<SmallVector<Write>> written;
};
} // namespace

TreeLoops::TreeLoops(const ChainArrays &arrays, IndexRange rows, const FactoredLinks *links)
    : IndexEmitter(arrays), links(links), rows(rows), ownRows{arrays.getAttr(0), rows.count} {
  matrices = arrays.createEmpty(getAsOpFoldResult(sub(arrays.numSteps, constant(1))), rows.count,
                                {arrays.numColumns, arrays.size});
  vectors = arrays.createEmpty(getAsOpFoldResult(add(arrays.numSteps, constant(1))), rows.count,
                               {arrays.size});
  for (auto [state, seed] : llvm::enumerate(arrays.chain.getSeeds()))
    vectors = arrays.insert(arrays.extractRows(seed, rows), vectors,
                            getWindow(false, constant(0), arrays.getStateRange(state)));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value TreeLoops::getStep(Value link) {
  return arrays.chain.getReverse() ? sub(link, constant(1)) : sub(arrays.numSteps, link);
}

ArrayWindow TreeLoops::getWindow(bool isMatrix, Value element, std::optional<IndexRange> elements) {
  // Elements 1 to T - 1 have matrices, elements 0 to T vectors.
  Value slot = element;
  if (isMatrix)
    slot = sub(element, constant(1));
  else if (!arrays.chain.getReverse())
    slot = sub(arrays.numSteps, element);
  return {getOne(slot), ownRows, elements, /*dropsSlots=*/true};
}

void TreeLoops::setElement(Write write) {
  if (written)
    return written->push_back(write);
  Value &array = write.isMatrix ? matrices : vectors;
  array = arrays.insert(write.value, array, getWindow(write.isMatrix, write.element));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void TreeLoops::inParallel(Value lower, Value upper, function_ref<void(Value)> body) {
  auto loop = scf::ForallOp::create(
      builder, arrays.loc, ArrayRef<OpFoldResult>{getAsOpFoldResult(lower)},
      ArrayRef<OpFoldResult>{getAsOpFoldResult(upper)}, ArrayRef<OpFoldResult>{arrays.getAttr(1)},
      ValueRange{matrices, vectors}, /*mapping=*/std::nullopt);
  matrices = loop.getRegionIterArgs()[0];
  vectors = loop.getRegionIterArgs()[1];
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getTerminator());
    written.emplace();
    body(loop.getInductionVars().front());
    for (const Write &write : *written)
      arrays.insertInParallel(loop, write.value, write.isMatrix ? matrices : vectors,
                              getWindow(write.isMatrix, write.element));
    written.reset();
  }
  matrices = loop.getResult(0);
  vectors = loop.getResult(1);
}

void TreeLoops::inOrder(Value lower, Value upper, Value step, function_ref<void(Value)> body) {
  auto loop =
      scf::ForOp::create(builder, arrays.loc, lower, upper, step, ValueRange{matrices, vectors});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    matrices = loop.getRegionIterArgs()[0];
    vectors = loop.getRegionIterArgs()[1];
    body(loop.getInductionVar());
    scf::YieldOp::create(builder, arrays.loc, ValueRange{matrices, vectors});
  }
  matrices = loop.getResult(0);
  vectors = loop.getResult(1);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void TreeLoops::linearize(Value link) {
  Value into = getElement(true, link);
  if (links)
    return setElement({links->createTransition(getStep(link), into), true, link});
  ArrayWindow step = {getOne(getStep(link)), rows};
  setElement({createTransition(arrays, arrays.extractAll(arrays.chain.getSaved(), step),
                               arrays.extractAll(arrays.chain.getInjected(), step), into),
              true, link});
}

void TreeLoops::compose(Value left, Value right) {
  Value first = getElement(true, left), second = getElement(true, right);
  auto product =
      ComposeTransitionsOp::create(builder, arrays.loc, second.getType(), first, second, second,
                                   arrays.isDiagonal, arrays.chain.getLanesAttr());
  setElement({product.getResult(), true, right});
}

Value TreeLoops::createApply(Value matrix, Value cotangent, Value into) {
  return ApplyTransitionOp::create(builder, arrays.loc, into.getType(), matrix, cotangent, into,
                                   arrays.isDiagonal, arrays.chain.getLanesAttr())
      .getResult();
}

void TreeLoops::apply(Value matrix, Value from, Value to) {
  Value into = getElement(false, to);
  setElement({createApply(getElement(true, matrix), getElement(false, from), into), false, to});
}

void TreeLoops::copy(Value from, Value to) { setElement({getElement(false, from), false, to}); }

void TreeLoops::pushDown(Value left, Value right) {
  Value prefix = getElement(false, right);
  Value into = arrays.createEmpty(rows.count, {arrays.size});
  Value product = createApply(getElement(true, left), prefix, into);
  setElement({prefix, false, left});
  setElement({product, false, right});
}

SmallVector<Value> TreeLoops::getEntering() {
  Value first = constant(arrays.chain.getReverse() ? 1 : 0);
  SmallVector<Value> sequences;
  for (size_t state = 0; state < arrays.stateSizes.size(); ++state)
    sequences.push_back(arrays.extract(
        vectors, {getRange(first, arrays.numSteps), ownRows, arrays.getStateRange(state)}));
  return sequences;
}

SmallVector<Value> TreeLoops::getLastEntering() {
  SmallVector<Value> states;
  for (size_t state = 0; state < arrays.stateSizes.size(); ++state)
    states.push_back(
        arrays.extract(vectors, getWindow(false, arrays.numSteps, arrays.getStateRange(state))));
  return states;
}

//===----------------------------------------------------------------------===//
// The whole chain
//===----------------------------------------------------------------------===//

namespace {
/// Emits trees of all rows, and what the links make of what enters them.
class TreeExpansion {
public:
  TreeExpansion(ChainOp chain, bool factorsLinks)
      : chain(chain), builder(chain), arrays(builder, chain), factorsLinks(factorsLinks) {}

  void run();

private:
  size_t getNumStates() { return arrays.stateSizes.size(); }
  /// The results for `rows`, put into `results`.
  void expandRows(IndexRange rows, SmallVectorImpl<Value> &results);
  /// What all links emit, at once.
  void emitSteps(TreeLoops &tree, IndexRange rows, SmallVectorImpl<Value> &results);
  /// The cotangents that leave the last link.
  void applyLastLink(TreeLoops &tree, IndexRange rows, SmallVectorImpl<Value> &results);
  ArrayWindow getAllSteps(IndexRange rows) {
    return {{arrays.getAttr(0), getAsOpFoldResult(arrays.numSteps)}, rows};
  }

  ChainOp chain;
  OpBuilder builder;
  ChainArrays arrays;
  bool factorsLinks;
};
} // namespace

void TreeExpansion::run() {
  SmallVector<Value> results;
  OpFoldResult all = getAsOpFoldResult(arrays.numRows);
  for (auto [i, value] : llvm::enumerate(chain.getBody().front().getTerminator()->getOperands())) {
    ArrayRef<int64_t> shape = cast<VectorType>(value.getType()).getShape();
    results.push_back(i < getNumStates()
                          ? arrays.createEmpty(all, shape)
                          : arrays.createEmpty(getAsOpFoldResult(arrays.numSteps), all, shape));
  }
  if (!arrays.isPacked()) {
    expandRows(arrays.getAllRows(), results);
  } else {
    // One block after the other: the matrices of one are memory enough.
    auto loop = scf::ForOp::create(builder, chain.getLoc(), arrays.getIndex(0), arrays.numRows,
                                   arrays.getIndex(1), results);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs());
    expandRows({getAsOpFoldResult(loop.getInductionVar()), arrays.getAttr(1)}, carried);
    scf::YieldOp::create(builder, chain.getLoc(), carried);
    results.assign(loop.getResults().begin(), loop.getResults().end());
  }
  for (auto [result, value] : llvm::zip_equal(chain.getResults(), results))
    if (!result.use_empty())
      result.replaceAllUsesWith(arrays.cast(value, result.getType()));
  chain.erase();
}

void TreeExpansion::expandRows(IndexRange rows, SmallVectorImpl<Value> &results) {
  std::optional<FactoredLinks> links =
      factorsLinks ? FactoredLinks::create(arrays, rows) : std::nullopt;
  TreeLoops tree(arrays, rows, links ? &*links : nullptr);
  int64_t mostLevels =
      chain.getPlan().getAlgorithm() == ScanAlgorithm::Hybrid ? chain.getPlan().getSize() : -1;
  Value levels = emitNumLevels(builder, chain.getLoc(), arrays.numSteps, mostLevels);
  emitTreeScan(tree, arrays.numSteps, levels);
  emitSteps(tree, rows, results);
  if (llvm::any_of(chain.getCotangents(), [](Value value) { return !value.use_empty(); }))
    applyLastLink(tree, rows, results);
}

void TreeExpansion::emitSteps(TreeLoops &tree, IndexRange rows, SmallVectorImpl<Value> &results) {
  if (results.size() == getNumStates())
    return;
  ArrayWindow steps = getAllSteps(rows);
  SmallVector<Value> sequences = arrays.extractAll(chain.getSaved(), steps);
  llvm::append_range(sequences, tree.getEntering());
  llvm::append_range(sequences, arrays.extractAll(chain.getInjected(), steps));
  SmallVector<Value> into = arrays.extractAll(ArrayRef(results).drop_front(getNumStates()), steps);
  auto recurrence = RecurrenceOp::create(
      builder, chain.getLoc(), /*trajectories=*/TypeRange(), TypeRange(ValueRange(into)), sequences,
      /*initial=*/ValueRange(), chain.getCaptures(), /*steps=*/Value(), into,
      /*reverse=*/UnitAttr(), chain.getLanesAttr());
  cloneLinkInto(chain, recurrence.getBody(), LinkValues::Emitted);
  addInjection(recurrence.getBody().front(), chain.getInjectInto(), chain.getSaved().size(),
               chain.getSaved().size() + getNumStates());
  for (auto [i, output] : llvm::enumerate(recurrence.getOutputs())) {
    Value &result = results[getNumStates() + i];
    result = arrays.insert(output, result, steps);
  }
}

void TreeExpansion::applyLastLink(TreeLoops &tree, IndexRange rows,
                                  SmallVectorImpl<Value> &results) {
  Value step = tree.getStep(arrays.numSteps);
  ArrayWindow last = {{getAsOpFoldResult(step), arrays.getAttr(1)}, rows};
  SmallVector<Value> into;
  for (Value result : ArrayRef(results).take_front(getNumStates()))
    into.push_back(arrays.extractRows(result, rows));
  auto link = ChainOp::create(
      builder, chain.getLoc(), TypeRange(ValueRange(into)), /*emitted=*/TypeRange(),
      /*sums=*/TypeRange(), /*plan=*/PlanAttr(), arrays.extractAll(chain.getSaved(), last),
      tree.getLastEntering(), arrays.extractAll(chain.getInjected(), last),
      /*factors=*/ValueRange(), chain.getCaptures(), /*steps=*/Value(), into,
      chain.getInjectIntoAttr(), chain.getProperties().sumWith, chain.getReverseAttr(),
      chain.getLanesAttr());
  cloneLinkInto(chain, link.getBody(), LinkValues::States);
  for (auto [i, cotangent] : llvm::enumerate(link.getCotangents()))
    results[i] = arrays.insertRows(cotangent, results[i], rows);
}

void bppsa::expandToTree(ChainOp chain, bool factorsLinks) {
  TreeExpansion(chain, factorsLinks).run();
}
