//===- ExpandToTree.cpp - Blelloch and hybrid scans as loops --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TreeLoops.h"
#include "bppsa/Dialect/BPPSA/Transforms/Scan/ScanSizes.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

namespace {
class TreeExpansion {
public:
  TreeExpansion(ChainOp chain, LoopForm form)
      : chain(chain), builder(chain), arrays(builder, chain), form(form) {}

  void run();

private:
  size_t getNumStates() { return arrays.stateSizes.size(); }
  void expandRows(IndexRange rows, SmallVectorImpl<Value> &results);
  void emitSteps(TreeLoops &tree, IndexRange rows, SmallVectorImpl<Value> &results);
  void applyLastLink(TreeLoops &tree, IndexRange rows, SmallVectorImpl<Value> &results);
  ArrayWindow getAllSteps(IndexRange rows) {
    return {{arrays.getAttr(0), getAsOpFoldResult(arrays.numSteps)}, rows};
  }
  /// If unpacked, `rows` are all rows.
  SmallVector<Value> getAllSteps(ValueRange sequences, IndexRange rows) {
    if (arrays.isPacked())
      return arrays.extractAll(sequences, getAllSteps(rows));
    return llvm::to_vector(sequences);
  }

  ChainOp chain;
  OpBuilder builder;
  ChainArrays arrays;
  LoopForm form;
};
} // namespace

void TreeExpansion::run() {
  SmallVector<Value> results;
  OpFoldResult all = getAsOpFoldResult(arrays.numRows);
  OpFoldResult numSteps = getAsOpFoldResult(arrays.numSteps);
  for (auto [i, value] : llvm::enumerate(chain.getBody().front().getTerminator()->getOperands())) {
    ArrayRef<int64_t> shape = cast<VectorType>(value.getType()).getShape();
    if (i < getNumStates())
      results.push_back(arrays.createEmpty(all, shape));
    else if (arrays.isPacked())
      results.push_back(arrays.createEmpty(numSteps, all, shape));
    else
      results.push_back(arrays.createEmpty({numSteps, all}, shape));
  }
  if (!arrays.isPacked()) {
    expandRows(arrays.getAllRows(), results);
  } else {
    // Blocks are sequential, so only the matrices of one block are in memory.
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
      form.factorsLinks ? FactoredLinks::create(arrays, rows) : std::nullopt;
  TreeLoops tree(arrays, rows, links ? &*links : nullptr, form.wholeLevels);
  int64_t maxLevels =
      chain.getPlan().getAlgorithm() == ScanAlgorithm::Hybrid ? chain.getPlan().getSize() : -1;
  Value levels = emitNumLevels(builder, chain.getLoc(), arrays.numSteps, maxLevels);
  emitTreeScan(tree, arrays.numSteps, levels);
  emitSteps(tree, rows, results);
  if (llvm::any_of(chain.getCotangents(), [](Value value) { return !value.use_empty(); }))
    applyLastLink(tree, rows, results);
}

void TreeExpansion::emitSteps(TreeLoops &tree, IndexRange rows, SmallVectorImpl<Value> &results) {
  if (results.size() == getNumStates())
    return;
  SmallVector<Value> sequences = getAllSteps(chain.getSaved(), rows);
  llvm::append_range(sequences, tree.getEntering());
  llvm::append_range(sequences, getAllSteps(chain.getInjected(), rows));
  SmallVector<Value> into = getAllSteps(ArrayRef(results).drop_front(getNumStates()), rows);
  RecurrenceOp recurrence = createStatelessLoop(arrays, sequences, into);
  cloneLinkInto(chain, recurrence.getBody(), LinkValues::Emitted);
  addInjection(recurrence.getBody().front(), chain.getInjectInto(), chain.getSaved().size(),
               chain.getSaved().size() + getNumStates());
  for (auto [i, output] : llvm::enumerate(recurrence.getOutputs())) {
    Value &result = results[getNumStates() + i];
    result = arrays.isPacked() ? arrays.insert(output, result, getAllSteps(rows)) : output;
  }
}

void TreeExpansion::applyLastLink(TreeLoops &tree, IndexRange rows,
                                  SmallVectorImpl<Value> &results) {
  Value step = tree.getStep(arrays.numSteps);
  ArrayWindow last = {{getAsOpFoldResult(step), arrays.getAttr(1)}, rows};
  SmallVector<Value> into;
  for (Value result : ArrayRef(results).take_front(getNumStates()))
    into.push_back(arrays.isPacked() ? arrays.extractRows(result, rows) : result);
  ChainOptions options;
  options.reverse = chain.getReverse();
  options.writeTo(into, chain.getLanesAttr());
  auto link = ChainOp::create(builder, chain.getLoc(), TypeRange(ValueRange(into)),
                              /*emitted=*/TypeRange(), arrays.extractAll(chain.getSaved(), last),
                              tree.getLastEntering(), arrays.extractAll(chain.getInjected(), last),
                              chain.getInjectInto(), chain.getCaptures(), options);
  cloneLinkInto(chain, link.getBody(), LinkValues::States);
  for (auto [i, cotangent] : llvm::enumerate(link.getCotangents()))
    results[i] =
        arrays.isPacked() ? arrays.insertRows(cotangent, results[i], rows) : Value(cotangent);
}

void bppsa::expandToTree(ChainOp chain, LoopForm form) { TreeExpansion(chain, form).run(); }
