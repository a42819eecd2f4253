//===- LinkStructureVerifiers.cpp - verifiers of link structure -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::verifyFactorNumber(Operation *op, StringRef what, int64_t number,
                                        ValueRange operands) {
  if (number >= -1 && number < static_cast<int64_t>(operands.size()))
    return success();
  return op->emitOpError() << "a term must name one of the " << operands.size() << " " << what
                           << " by its number, or -1 for none, found " << number;
}

LogicalResult bppsa::verifyTerm(Operation *op, TermAttr term, ArrayRef<int64_t> states,
                                StringRef what, ValueRange matrices) {
  int64_t numStates = states.size();
  for (int64_t state : {term.getRow(), term.getCol()})
    if (state < 0 || state >= numStates)
      return op->emitOpError() << "a term must name one of the " << numStates << " states, found "
                               << state;
  if (failed(verifyFactorNumber(op, what, term.getMatrix(), matrices)))
    return failure();
  int64_t rows = states[term.getRow()], cols = states[term.getCol()];
  if (term.getMatrix() < 0) {
    if (rows == cols && !term.getTransposed())
      return success();
    return op->emitOpError() << "a term without a matrix must be a square diagonal that is not "
                             << "transposed, found " << rows << " x " << cols;
  }
  Type type = matrices[term.getMatrix()].getType();
  SmallVector<int64_t> expected = {rows, cols};
  if (term.getTransposed())
    std::swap(expected[0], expected[1]);
  if (cast<ShapedType>(type).getShape() == ArrayRef(expected))
    return success();
  return op->emitOpError() << "matrix " << term.getMatrix() << " must be " << expected[0] << " x "
                           << expected[1] << ", found " << type;
}

LogicalResult bppsa::verifyLinkStructure(ChainOp chain) {
  std::optional<jacobian::StructureAttr> structure = chain.getStructure();
  std::optional<ArrayAttr> terms = chain.getTerms();
  if (terms && !structure)
    return chain.emitOpError("has terms and must have their structure; run bppsa-infer-structure");
  if (!structure)
    return success();
  if (chain.isGraphForm())
    return chain.emitOpError("must have no structure in graph form; structures describe vectors");
  SmallVector<int64_t> states;
  int64_t size = 0;
  Block &body = chain.getBody().front();
  for (BlockArgument state :
       body.getArguments().slice(chain.getSaved().size(), chain.getSeeds().size())) {
    states.push_back(cast<VectorType>(state.getType()).getNumElements());
    size += states.back();
  }
  auto emitError = [&] { return chain.emitOpError(); };
  if (failed(structure->verifyShape(emitError, size, size)))
    return failure();
  for (TermAttr term :
       terms.value_or(ArrayAttr::get(chain.getContext(), {})).getAsRange<TermAttr>())
    if (failed(verifyTerm(chain, term, states, "captures", chain.getCaptures())))
      return failure();
  return success();
}
