//===- LinearForm.cpp - links as sums of scaled matrices ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/LinearForm.h"
#include "bppsa/Dialect/BPPSA/Utils/BodyRewrites.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// `diag(left) M diag(right)` times the cotangent of state `col`, or minus that. Without a matrix
/// all scales are in `right`. A scale that is null is one.
struct Term {
  unsigned col;
  Value left, right;
  /// A capture of the link.
  BlockArgument matrix;
  bool isTransposed = false;
  bool isNegated = false;

  bool hasSameMatrix(const Term &other) const {
    return col == other.col && matrix == other.matrix && isTransposed == other.isTransposed;
  }
};
using Terms = SmallVector<Term>;

/// Follows the values of a link that depend on cotangents, and builds the scales of their terms.
class LinkWalk {
public:
  LinkWalk(ChainOp chain, Block &scales);

  LogicalResult run();
  /// What yielded cotangent `row` is a sum of, with as few terms as possible and no signs.
  SmallVector<Term> takeTerms(unsigned row);

private:
  void visit(Operation &op);
  std::optional<Terms> getTerms(Operation &op);
  std::optional<Terms> getTerms(MatVecOp op);
  std::optional<Terms> getTerms(arith::SelectOp op);
  /// The terms of a sum; nothing where a summand does not depend on cotangents.
  std::optional<Terms> add(Value lhs, Value rhs, bool negatesRight);
  std::optional<Terms> scale(Value dependent, Value factor, bool divides = false);
  /// The terms of `dependent` times `factor`, a value among the scales, or divided by it.
  Terms scaleBy(Value dependent, Value factor, bool divides);
  bool hasForm(Value value) const { return forms.contains(value); }

  Value getCotangent(unsigned state) { return link.getArgument(chain.getSaved().size() + state); }
  /// A constant of the type of `like`.
  Value createFilled(Value like, double value);
  /// `scale` times `factor`, or divided by it.
  Value multiply(Value scale, Value factor, bool divides);
  /// The sum of a scale of each of two terms, which have the type of `like`.
  Value addScales(const Term &lhs, Value lhsScale, const Term &rhs, Value rhsScale, Value like);
  /// Adds `other` to `term` where they differ in one scale. Both are of yielded value `row`.
  bool merge(Term &term, const Term &other, Value row);
  void dropSign(Term &term, Value row);

  ChainOp chain;
  Block &link;
  OpBuilder builder;
  /// Values of the link that do not depend on cotangents, among the scales.
  IRMapping copies;
  llvm::DenseMap<Value, Terms> forms;
  /// Values that depend on cotangents in any other way.
  llvm::DenseSet<Value> opaque;
};
} // namespace

LinkWalk::LinkWalk(ChainOp chain, Block &scales)
    : chain(chain), link(chain.getBody().front()), builder(chain.getContext()) {
  builder.setInsertionPointToEnd(&scales);
  size_t numSaved = chain.getSaved().size(), numStates = chain.getSeeds().size();
  for (BlockArgument argument : link.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (number >= numSaved && number < numSaved + numStates)
      forms[argument] = {{static_cast<unsigned>(number - numSaved), {}, {}, {}}};
    else
      copies.map(argument, scales.addArgument(argument.getType(), argument.getLoc()));
  }
}

LogicalResult LinkWalk::run() {
  for (Operation &op : link.without_terminator())
    visit(op);
  // What the link emits may be anything.
  for (Value yielded : link.getTerminator()->getOperands().take_front(chain.getSeeds().size()))
    if (!hasForm(yielded) && !matchPattern(yielded, m_AnyZeroFloat()))
      return failure();
  return success();
}

void LinkWalk::visit(Operation &op) {
  auto isOpaque = [&](Value operand) { return opaque.contains(operand); };
  std::optional<Terms> terms;
  if (llvm::none_of(op.getOperands(), isOpaque)) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return hasForm(operand); }))
      return static_cast<void>(builder.clone(op, copies));
    if (op.getNumResults() == 1)
      terms = getTerms(op);
  }
  if (terms)
    forms[op.getResult(0)] = std::move(*terms);
  else
    opaque.insert(op.getResults().begin(), op.getResults().end());
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static Terms negate(Terms terms) {
  for (Term &term : terms)
    term.isNegated = !term.isNegated;
  return terms;
}

std::optional<Terms> LinkWalk::getTerms(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<Terms>>(&op)
      .Case([&](arith::AddFOp sum) { return add(sum.getLhs(), sum.getRhs(), false); })
      .Case([&](arith::SubFOp difference) {
        return add(difference.getLhs(), difference.getRhs(), true);
      })
      .Case([&](arith::NegFOp negation) { return negate(forms.at(negation.getOperand())); })
      .Case([&](arith::MulFOp product) {
        return hasForm(product.getLhs()) ? scale(product.getLhs(), product.getRhs())
                                         : scale(product.getRhs(), product.getLhs());
      })
      .Case([&](arith::DivFOp quotient) {
        return scale(quotient.getLhs(), quotient.getRhs(), /*divides=*/true);
      })
      .Case([&](arith::SelectOp select) { return getTerms(select); })
      .Case([&](MatVecOp product) { return getTerms(product); })
      .Case([&](StopGradientOp) { return Terms(); })
      .Default(std::nullopt);
}

std::optional<Terms> LinkWalk::add(Value lhs, Value rhs, bool negatesRight) {
  if (!hasForm(lhs) || !hasForm(rhs))
    return std::nullopt;
  Terms terms = forms.at(lhs), others = forms.at(rhs);
  llvm::append_range(terms, negatesRight ? negate(others) : others);
  return terms;
}

std::optional<Terms> LinkWalk::scale(Value dependent, Value factor, bool divides) {
  if (!hasForm(dependent) || hasForm(factor))
    return std::nullopt;
  return scaleBy(dependent, copies.lookup(factor), divides);
}

Terms LinkWalk::scaleBy(Value dependent, Value factor, bool divides) {
  Terms terms = forms.at(dependent);
  for (Term &term : terms) {
    Value &scale = term.matrix ? term.left : term.right;
    scale = multiply(scale, factor, divides);
  }
  return terms;
}

std::optional<Terms> LinkWalk::getTerms(arith::SelectOp op) {
  // A choice between what depends on cotangents and zero is a scale of one or zero.
  bool isFirst = hasForm(op.getTrueValue());
  Value chosen = isFirst ? op.getTrueValue() : op.getFalseValue();
  Value other = isFirst ? op.getFalseValue() : op.getTrueValue();
  if (hasForm(op.getCondition()) || !matchPattern(other, m_AnyZeroFloat()))
    return std::nullopt;
  Value one = createFilled(op, 1), zero = createFilled(op, 0);
  Value mask = arith::SelectOp::create(builder, op.getLoc(), copies.lookup(op.getCondition()),
                                       isFirst ? one : zero, isFirst ? zero : one);
  return scaleBy(chosen, mask, /*divides=*/false);
}

std::optional<Terms> LinkWalk::getTerms(MatVecOp op) {
  auto matrix = dyn_cast<BlockArgument>(op.getMatrix());
  size_t firstCapture = chain.getSaved().size() + chain.getSeeds().size();
  if (!matrix || matrix.getArgNumber() < firstCapture || !hasForm(op.getVector()))
    return std::nullopt;
  Terms terms = forms.at(op.getVector());
  for (Term &term : terms) {
    // Of a product of two matrices nothing is known but its size.
    if (term.matrix)
      return std::nullopt;
    term.matrix = matrix;
    term.isTransposed = op.getTransposed();
  }
  if (!op.getAddend())
    return terms;
  if (!hasForm(op.getAddend()))
    return std::nullopt;
  llvm::append_range(terms, forms.at(op.getAddend()));
  return terms;
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

Value LinkWalk::createFilled(Value like, double value) {
  auto type = cast<VectorType>(like.getType());
  auto entry = builder.getFloatAttr(type.getElementType(), value);
  return arith::ConstantOp::create(builder, like.getLoc(), DenseElementsAttr::get(type, entry));
}

Value LinkWalk::multiply(Value scale, Value factor, bool divides) {
  Location loc = factor.getLoc();
  if (divides)
    return arith::DivFOp::create(builder, loc, scale ? scale : createFilled(factor, 1), factor);
  return scale ? arith::MulFOp::create(builder, loc, scale, factor).getResult() : factor;
}

Value LinkWalk::addScales(const Term &lhs, Value lhsScale, const Term &rhs, Value rhsScale,
                          Value like) {
  Location loc = like.getLoc();
  lhsScale = lhsScale ? lhsScale : createFilled(like, 1);
  rhsScale = rhsScale ? rhsScale : createFilled(like, 1);
  // The sum takes the sign of `lhs`.
  if (lhs.isNegated == rhs.isNegated)
    return arith::AddFOp::create(builder, loc, lhsScale, rhsScale);
  return arith::SubFOp::create(builder, loc, lhsScale, rhsScale);
}

bool LinkWalk::merge(Term &term, const Term &other, Value row) {
  if (!term.hasSameMatrix(other))
    return false;
  if (term.left == other.left) {
    term.right = addScales(term, term.right, other, other.right, getCotangent(term.col));
    return true;
  }
  if (term.right != other.right)
    return false;
  term.left = addScales(term, term.left, other, other.left, row);
  return true;
}

void LinkWalk::dropSign(Term &term, Value row) {
  if (!term.isNegated)
    return;
  Value &scale = term.left ? term.left : term.right;
  scale = scale ? arith::NegFOp::create(builder, scale.getLoc(), scale).getResult()
                : createFilled(getCotangent(term.col), -1);
}

SmallVector<Term> LinkWalk::takeTerms(unsigned row) {
  Value yielded = link.getTerminator()->getOperand(row);
  Terms merged;
  for (const Term &term : forms.lookup(yielded))
    if (llvm::none_of(merged, [&](Term &other) { return merge(other, term, yielded); }))
      merged.push_back(term);
  for (Term &term : merged)
    dropSign(term, yielded);
  return merged;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// The number of `value` in `values`, which gets it; -1 for none.
template <typename T> static int64_t getNumber(llvm::SetVector<T> &values, T value) {
  if (!value)
    return -1;
  values.insert(value);
  return llvm::find(values, value) - values.begin();
}

std::optional<LinearForm> LinearForm::get(ChainOp chain) {
  if (chain.isGraphForm())
    return std::nullopt;
  LinearForm form;
  form.scales = std::make_unique<Region>();
  Block &scales = form.scales->emplaceBlock();
  LinkWalk walk(chain, scales);
  if (failed(walk.run()))
    return std::nullopt;
  llvm::SetVector<Value> yielded;
  llvm::SetVector<BlockArgument> matrices;
  for (unsigned row = 0; row < chain.getSeeds().size(); ++row)
    for (const Term &term : walk.takeTerms(row))
      form.terms.push_back(TermAttr::get(
          chain.getContext(), row, term.col, getNumber(yielded, term.left),
          getNumber(matrices, term.matrix), getNumber(yielded, term.right), term.isTransposed));
  unsigned firstCapture = chain.getSaved().size() + chain.getSeeds().size();
  for (BlockArgument matrix : matrices)
    form.matrices.push_back(matrix.getArgNumber() - firstCapture);
  OpBuilder builder(chain.getContext());
  builder.setInsertionPointToEnd(&scales);
  YieldOp::create(builder, chain.getLoc(), yielded.getArrayRef());
  yieldOnly(scales, 0, yielded.size());
  return form;
}

int64_t LinearForm::countEntryFlops(ArrayRef<int64_t> stateSizes) const {
  // Whether an entry of the block of two states is written already.
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
