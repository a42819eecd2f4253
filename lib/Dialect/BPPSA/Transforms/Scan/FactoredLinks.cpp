//===- FactoredLinks.cpp - link matrices from factors ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "FactoredLinks.h"
#include "ScanLoops.h"
#include "bppsa/Dialect/BPPSA/Analysis/LinearForm.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

std::optional<FactoredLinks> FactoredLinks::create(const ChainArrays &arrays, IndexRange rows) {
  // A diagonal takes one column.
  if (arrays.isDiagonal || !arrays.chain.getTerms())
    return std::nullopt;
  FactoredLinks links(arrays, rows);
  links.numberMatrices();
  links.createScales();
  return links;
}

/// Renumbers terms by the captures they use.
void FactoredLinks::numberMatrices() {
  llvm::SetVector<int64_t> captures;
  for (TermAttr term : arrays->chain.getTermsAttr().getAsRange<TermAttr>()) {
    int64_t matrix = -1;
    if (term.getMatrix() >= 0) {
      captures.insert(term.getMatrix());
      matrix = llvm::find(captures, term.getMatrix()) - captures.begin();
    }
    terms.push_back(TermAttr::get(term.getContext(), term.getRow(), term.getCol(), term.getLeft(),
                                  matrix, term.getRight(), term.getTransposed()));
  }
  for (int64_t capture : captures)
    matrices.push_back(arrays->chain.getCaptures()[capture]);
}

void FactoredLinks::createScales() {
  ChainOp chain = arrays->chain;
  LinearForm form = *LinearForm::get(chain);
  Block &body = form.scales->front();
  Operation *yield = body.getTerminator();
  ArrayWindow steps = {{arrays->getAttr(0), getAsOpFoldResult(arrays->numSteps)}, rows};
  IndexRange ownRows = {arrays->getAttr(0), rows.count};
  SmallVector<Value> computed, into;
  for (Value scale : yield->getOperands()) {
    auto saved = dyn_cast<BlockArgument>(scale);
    if (saved && saved.getArgNumber() < chain.getSaved().size()) {
      scales.push_back({chain.getSaved()[saved.getArgNumber()], rows});
      continue;
    }
    scales.push_back({Value(), ownRows});
    computed.push_back(scale);
    into.push_back(arrays->createEmpty(getAsOpFoldResult(arrays->numSteps), rows.count,
                                       cast<VectorType>(scale.getType()).getShape()));
  }
  if (computed.empty())
    return;
  yield->setOperands(computed);
  RecurrenceOp recurrence =
      createStatelessLoop(*arrays, arrays->extractAll(chain.getSaved(), steps), into);
  recurrence.getBody().takeBody(*form.scales);
  ResultRange outputs = recurrence.getOutputs();
  for (auto [scale, output] : llvm::zip_equal(
           llvm::make_filter_range(scales, [](const Scale &scale) { return !scale.sequence; }),
           outputs))
    scale.sequence = output;
}

Value FactoredLinks::createTransition(Value step, Value into) const {
  ChainOp chain = arrays->chain;
  auto getWindow = [&](IndexRange of) -> ArrayWindow {
    return {{getAsOpFoldResult(step), arrays->getAttr(1)}, of, std::nullopt, /*dropsSlots=*/true};
  };
  SmallVector<Value> ofStep;
  for (const Scale &scale : scales)
    ofStep.push_back(arrays->extract(scale.sequence, getWindow(scale.rows)));
  return FactoredTransitionOp::create(
             arrays->builder, arrays->loc, into.getType(), ofStep, matrices,
             arrays->extractAll(chain.getInjected(), getWindow(rows)), into,
             arrays->builder.getArrayAttr(terms), chain.getInjectInto(), arrays->stateSizes,
             chain.getLanesAttr())
      .getResult();
}
