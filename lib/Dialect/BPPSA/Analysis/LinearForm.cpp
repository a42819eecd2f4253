//===- LinearForm.cpp - links as sums of scaled matrices ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/LinearForm.h"
#include "LinkTerms.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

namespace {
class TermMerger {
public:
  TermMerger(OpBuilder &builder, LinkTerms &link, Value yielded)
      : builder(builder), link(link), yielded(yielded) {}

  SmallVector<LinkTerm> run();

private:
  Value createFilled(Value like, double value);
  TermScale addScales(const LinkTerm &lhs, TermScale lhsScale, const LinkTerm &rhs,
                      TermScale rhsScale, Value like);
  bool merge(LinkTerm &term, const LinkTerm &other);
  void dropSign(LinkTerm &term);

  OpBuilder &builder;
  LinkTerms &link;
  Value yielded;
};
} // namespace

Value TermMerger::createFilled(Value like, double value) {
  auto type = cast<VectorType>(like.getType());
  auto entry = builder.getFloatAttr(type.getElementType(), value);
  return arith::ConstantOp::create(builder, like.getLoc(), DenseElementsAttr::get(type, entry));
}

TermScale TermMerger::addScales(const LinkTerm &lhs, TermScale lhsScale, const LinkTerm &rhs,
                                TermScale rhsScale, Value like) {
  Location loc = like.getLoc();
  Value first = lhsScale.value ? lhsScale.value : createFilled(like, 1);
  Value second = rhsScale.value ? rhsScale.value : createFilled(like, 1);
  if (lhs.isNegated == rhs.isNegated)
    return {arith::AddFOp::create(builder, loc, first, second)};
  return {arith::SubFOp::create(builder, loc, first, second)};
}

bool TermMerger::merge(LinkTerm &term, const LinkTerm &other) {
  if (term.col != other.col || term.matrix != other.matrix ||
      term.isTransposed != other.isTransposed)
    return false;
  if (term.left == other.left) {
    term.right = addScales(term, term.right, other, other.right, link.getState(term.col));
    return true;
  }
  if (!(term.right == other.right))
    return false;
  term.left = addScales(term, term.left, other, other.left, yielded);
  return true;
}

void TermMerger::dropSign(LinkTerm &term) {
  if (!term.isNegated)
    return;
  Value &scale = term.left.value ? term.left.value : term.right.value;
  scale = scale ? arith::NegFOp::create(builder, scale.getLoc(), scale).getResult()
                : createFilled(link.getState(term.col), -1);
}

SmallVector<LinkTerm> TermMerger::run() {
  SmallVector<LinkTerm> merged;
  for (const LinkTerm &term : link.lookup(yielded))
    if (llvm::none_of(merged, [&](LinkTerm &other) { return merge(other, term); }))
      merged.push_back(term);
  for (LinkTerm &term : merged)
    dropSign(term);
  return merged;
}

template <typename T> static int64_t getNumber(llvm::SetVector<T> &values, T value) {
  if (!value)
    return -1;
  values.insert(value);
  return llvm::find(values, value) - values.begin();
}

static bool areKnown(LinkTerms &link, OperandRange cotangents) {
  return llvm::all_of(cotangents, [&](Value yielded) {
    if (!link.dependsOnStates(yielded))
      return matchPattern(yielded, m_AnyZeroFloat());
    return link.isLinear(yielded) &&
           llvm::all_of(link.lookup(yielded), [](const LinkTerm &term) { return term.isKnown(); });
  });
}

std::optional<LinearForm> LinearForm::get(ChainOp chain) {
  if (chain.isGraphForm())
    return std::nullopt;
  LinearForm form;
  form.scales = std::make_unique<Region>();
  Block &scales = form.scales->emplaceBlock();
  LinkTerms link(chain, scales);
  OperandRange cotangents =
      chain.getBody().front().getTerminator()->getOperands().take_front(chain.getSeeds().size());
  if (!areKnown(link, cotangents))
    return std::nullopt;
  OpBuilder builder(chain.getContext());
  builder.setInsertionPointToEnd(&scales);
  int64_t firstCapture = chain.getSaved().size() + chain.getSeeds().size();
  llvm::SetVector<Value> yielded;
  for (auto [row, cotangent] : llvm::enumerate(cotangents))
    for (const LinkTerm &term : TermMerger(builder, link, cotangent).run()) {
      int64_t left = getNumber(yielded, term.left.value);
      int64_t matrix = term.matrix ? term.matrix.getArgNumber() - firstCapture : -1;
      form.terms.push_back(TermAttr::get(chain.getContext(), row, term.col, left, matrix,
                                         getNumber(yielded, term.right.value), term.isTransposed));
    }
  YieldOp::create(builder, chain.getLoc(), yielded.getArrayRef());
  yieldOnly(scales, 0, yielded.size());
  return form;
}

int64_t LinearForm::countEntryFlops(ArrayRef<int64_t> stateSizes) const {
  // Pairs of states whose block an earlier term has written.
  llvm::DenseSet<std::pair<int64_t, int64_t>> started;
  int64_t flops = 0;
  for (TermAttr term : terms) {
    int64_t scales = (term.getLeft() >= 0) + (term.getRight() >= 0);
    int64_t rows = stateSizes[term.getRow()], cols = stateSizes[term.getCol()];
    bool isFirst = started.insert({term.getRow(), term.getCol()}).second;
    if (term.getMatrix() >= 0)
      flops += rows * cols * (scales + !isFirst);
    else
      flops += rows * (scales - 1 + !isFirst);
  }
  return flops;
}
