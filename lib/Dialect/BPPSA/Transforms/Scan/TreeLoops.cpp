//===- TreeLoops.cpp - levels of a tree as loops --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TreeLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

TreeLoops::TreeLoops(const ChainArrays &arrays, IndexRange rows, const FactoredLinks *links,
                     bool wholeLevels)
    : IndexEmitter(arrays), links(links), wholeLevels(wholeLevels), rows(rows),
      ownRows{arrays.getAttr(0), rows.count} {
  matrices = arrays.createEmpty(getAsOpFoldResult(sub(arrays.numSteps, constant(1))), rows.count,
                                {arrays.numColumns, arrays.size});
  vectors = arrays.createEmpty(getAsOpFoldResult(arrays.numSteps), rows.count, {arrays.size});
  if (wholeLevels && arrays.stateSizes.size() > 1) {
    insertSeedsInParallel();
    return;
  }
  for (auto [state, seed] : llvm::enumerate(arrays.chain.getSeeds()))
    vectors = arrays.insert(arrays.extractRows(seed, rows), vectors,
                            getWindow(false, constant(1), arrays.getStateRange(state)));
}

void TreeLoops::insertSeedsInParallel() {
  auto loop = scf::ForallOp::create(builder, arrays.loc, ArrayRef<OpFoldResult>{rows.count},
                                    ValueRange{vectors}, getBlockMapping(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getTerminator());
  IndexRange row = getOne(loop.getInductionVar(0));
  for (auto [state, seed] : llvm::enumerate(arrays.chain.getSeeds())) {
    ArrayWindow window = getWindow(false, constant(1), arrays.getStateRange(state));
    window.rows = row;
    arrays.insertInParallel(loop, arrays.extractRows(seed, row), loop.getRegionIterArgs()[0],
                            window);
  }
  vectors = loop.getResult(0);
}

Value TreeLoops::getStep(Value link) {
  return arrays.chain.getReverse() ? sub(link, constant(1)) : sub(arrays.numSteps, link);
}

ArrayWindow TreeLoops::getWindow(bool isMatrix, Value element, std::optional<IndexRange> elements) {
  // Elements 1 to T - 1 have matrices, 1 to T vectors.
  Value slot = isMatrix ? sub(element, constant(1)) : getStep(element);
  return {getOne(slot), ownRows, elements, /*dropsSlots=*/true};
}

void TreeLoops::setElement(Write write) {
  if (written)
    return written->push_back(write);
  Value &array = write.isMatrix ? matrices : vectors;
  array = arrays.insert(write.value, array, getWindow(write.isMatrix, write.element));
}

void TreeLoops::inParallel(Value lower, Value upper, function_ref<void(Value)> body) {
  auto loop = scf::ForallOp::create(
      builder, arrays.loc, ArrayRef<OpFoldResult>{getAsOpFoldResult(lower)},
      ArrayRef<OpFoldResult>{getAsOpFoldResult(upper)}, ArrayRef<OpFoldResult>{arrays.getAttr(1)},
      ValueRange{matrices, vectors},
      wholeLevels ? std::optional(getBlockMapping(1)) : std::nullopt);
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

void TreeLoops::inPairs(Value count, function_ref<Pair(Value)> getPair,
                        function_ref<void(Pair)> first, function_ref<void(Pair)> others) {
  Value zero = constant(0);
  if (!wholeLevels) {
    first(getPair(zero));
    return inParallel(constant(1), count, [&](Value i) { others(getPair(i)); });
  }
  inParallel(zero, count, [&](Value i) {
    Pair pair = getPair(i);
    Value isFirst =
        arith::CmpIOp::create(builder, arrays.loc, arith::CmpIPredicate::eq, i, constant(0));
    emitIfElse(isFirst, [&] { first(pair); }, [&] { others(pair); });
  });
}

SmallVector<TreeLoops::Write> TreeLoops::emitBranch(Block *block, function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(block->getTerminator());
  std::optional<SmallVector<Write>> outer = std::exchange(written, SmallVector<Write>());
  body();
  return *std::exchange(written, std::move(outer));
}

void TreeLoops::emitIfElse(Value isFirst, function_ref<void()> first, function_ref<void()> others) {
  auto draft = scf::IfOp::create(builder, arrays.loc, isFirst, /*withElseRegion=*/true);
  SmallVector<Write> ofFirst = emitBranch(draft.thenBlock(), first);
  SmallVector<Write> ofOthers = emitBranch(draft.elseBlock(), others);
  auto find = [](ArrayRef<Write> writes, const Write &wanted) {
    return llvm::find_if(writes, [&](const Write &write) {
      return write.isMatrix == wanted.isMatrix && write.element == wanted.element;
    });
  };
  SmallVector<Write> all = ofFirst;
  for (const Write &write : ofOthers)
    if (find(all, write) == all.end())
      all.push_back(write);

  builder.setInsertionPoint(draft);
  for (Write &write : all)
    write.value = getElement(write.isMatrix, write.element);
  auto either = scf::IfOp::create(
      builder, arrays.loc,
      llvm::map_to_vector(all, [](const Write &write) { return write.value.getType(); }), isFirst,
      /*withElseRegion=*/true);
  auto takeBranch = [&](Region &from, Region &to, ArrayRef<Write> writes) {
    to.takeBody(from);
    SmallVector<Value> values;
    for (const Write &write : all) {
      const Write *found = find(writes, write);
      values.push_back(found == writes.end() ? write.value : found->value);
    }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&to.front());
    to.front().getTerminator()->erase();
    scf::YieldOp::create(builder, arrays.loc, values);
  };
  takeBranch(draft.getThenRegion(), either.getThenRegion(), ofFirst);
  takeBranch(draft.getElseRegion(), either.getElseRegion(), ofOthers);
  draft.erase();
  builder.setInsertionPointAfter(either);
  for (auto [write, value] : llvm::zip_equal(all, either.getResults()))
    setElement({value, write.isMatrix, write.element});
}

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
                                   arrays.isDiagonal, /*byRows=*/false, arrays.chain.getLanesAttr())
      .getResult();
}

void TreeLoops::apply(Value matrix, Value to) {
  Value into = getElement(false, to);
  setElement({createApply(getElement(true, matrix), getElement(false, matrix), into), false, to});
}

/// The vector of `right` holds prefix `left`.
void TreeLoops::extend(Value, Value right, Value entered) { apply(right, entered); }

void TreeLoops::pushDown(Value left, Value right) {
  Value prefix = getElement(false, right);
  Value into = arrays.createEmpty(rows.count, {arrays.size});
  Value product = createApply(getElement(true, left), prefix, into);
  setElement({prefix, false, left});
  setElement({product, false, right});
}

SmallVector<Value> TreeLoops::getEntering() {
  if (arrays.stateSizes.size() == 1)
    return {vectors};
  SmallVector<Value> sequences;
  for (size_t state = 0; state < arrays.stateSizes.size(); ++state)
    sequences.push_back(arrays.extract(
        vectors, {getRange(constant(0), arrays.numSteps), ownRows, arrays.getStateRange(state)}));
  return sequences;
}

SmallVector<Value> TreeLoops::getLastEntering() {
  SmallVector<Value> states;
  for (size_t state = 0; state < arrays.stateSizes.size(); ++state)
    states.push_back(
        arrays.extract(vectors, getWindow(false, arrays.numSteps, arrays.getStateRange(state))));
  return states;
}
