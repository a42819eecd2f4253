//===- Einsum.cpp - Einsum ------------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <map>

using namespace mlir;
using namespace bppsa;

namespace {
using Labels = SmallVector<int>;

struct Term {
  Tensor tensor;
  Labels labels;
};

class Equation {
public:
  explicit Equation(Node &node) : node(node), graph(node.graph) {}

  LogicalResult read();
  Tensor build();

private:
  InFlightDiagnostic error() const {
    return node.emitError() << "attribute 'equation' is " << quoted(node.getString("equation", ""))
                            << ", which ";
  }
  FailureOr<Labels> parse(StringRef text, int64_t numHidden) const;
  LogicalResult readTerm(const Tensor &tensor, StringRef text);
  void deduceResult();
  void dropOnes(Term &term);
  Tensor contract(ArrayRef<Term> terms, const Labels &kept);

  Node &node;
  GraphBuilder &graph;
  SmallVector<Term> terms;
  Labels result;
  std::map<int, Dim> dims;
  int64_t numHidden = 0;
};
} // namespace

FailureOr<Labels> Equation::parse(StringRef text, int64_t hidden) const {
  Labels labels;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      for (int64_t i = hidden; i > 0; --i)
        labels.push_back(-i);
      continue;
    }
    if (!llvm::isAlpha(text.front()))
      return error() << "holds " << quoted(text.take_front(1)) << ", accepted: letters and '...'";
    labels.push_back(text.front());
    text = text.drop_front();
  }
  return labels;
}

LogicalResult Equation::readTerm(const Tensor &tensor, StringRef text) {
  int64_t hidden = 0;
  if (text.contains("...")) {
    hidden = tensor.getRank() - (static_cast<int64_t>(text.size()) - 3);
    numHidden = std::max(numHidden, hidden);
  }
  FailureOr<Labels> labels = parse(text, hidden);
  if (failed(labels))
    return failure();
  if (static_cast<int64_t>(labels->size()) != tensor.getRank())
    return error() << "gives " << quoted(text) << " for an input of shape "
                   << graph.describeShape(tensor);
  for (auto [label, dim] : llvm::zip_equal(*labels, tensor.dims)) {
    auto [known, isNew] = dims.try_emplace(label, dim);
    if (isNew || dim.isOne())
      continue;
    FailureOr<Dim> common = known->second.isOne() ? dim : graph.unify(known->second, dim);
    if (failed(common))
      return node.emitShapeError();
    known->second = *common;
  }
  terms.push_back({tensor, *labels});
  return success();
}

void Equation::deduceResult() {
  std::map<int, unsigned> counts;
  for (const Term &term : terms)
    for (int label : term.labels)
      ++counts[label];
  for (int64_t i = numHidden; i > 0; --i)
    result.push_back(-i);
  for (auto [label, count] : counts)
    if (label > 0 && count == 1)
      result.push_back(label);
}

LogicalResult Equation::read() {
  std::string text = node.getString("equation", "").str();
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  if (parts.size() != node.inputs.size())
    return error() << "has " << parts.size() << " terms for " << node.inputs.size() << " inputs";
  for (auto [i, part] : llvm::enumerate(parts))
    if (failed(readTerm(node.input(i), part)))
      return failure();
  if (!StringRef(text).contains("->")) {
    deduceResult();
    return success();
  }
  FailureOr<Labels> labels = parse(right, numHidden);
  if (failed(labels))
    return failure();
  for (auto [i, label] : llvm::enumerate(*labels))
    if (!dims.count(label) || llvm::is_contained(ArrayRef(*labels).take_front(i), label))
      return error() << "has a result with a label that is given twice, or in no term";
  result = *labels;
  return success();
}

void Equation::dropOnes(Term &term) {
  SmallVector<int64_t> dropped;
  Labels labels;
  for (auto [i, label] : llvm::enumerate(term.labels)) {
    if (term.tensor.dims[i].isOne() && !dims.at(label).isOne())
      dropped.push_back(i);
    else
      labels.push_back(label);
  }
  term = {graph.makeSqueeze(term.tensor, dropped), labels};
}

/// Contracts one or two terms: multiplies them and sums over the labels that are not `kept`.
Tensor Equation::contract(ArrayRef<Term> factors, const Labels &kept) {
  Labels loops = kept;
  for (const Term &term : factors)
    for (int label : term.labels)
      if (!llvm::is_contained(loops, label))
        loops.push_back(label);
  auto getMap = [&](const Labels &labels) {
    SmallVector<AffineExpr> results;
    for (int label : labels)
      results.push_back(graph.builder.getAffineDimExpr(llvm::find(loops, label) - loops.begin()));
    return AffineMap::get(loops.size(), 0, results, graph.getContext());
  };
  SmallVector<Dim> shape;
  for (int label : kept)
    shape.push_back(dims.at(label));
  SmallVector<AffineMap> maps;
  SmallVector<Tensor> tensors;
  for (const Term &term : factors) {
    maps.push_back(getMap(term.labels));
    tensors.push_back(term.tensor);
  }
  maps.push_back(getMap(kept));
  if (factors.size() == 2)
    return graph.makeContraction(tensors[0], tensors[1], shape, maps);
  Tensor zeros = graph.makeFilled(shape, graph.builder.getF32FloatAttr(0));
  return graph.makeGeneric(tensors, zeros, maps,
                           [](OpBuilder &b, Location loc, ValueRange in) -> Value {
                             return arith::AddFOp::create(b, loc, in[1], in[0]);
                           });
}

Tensor Equation::build() {
  for (Term &term : terms)
    dropOnes(term);
  Term product = terms.front();
  if (terms.size() == 1)
    return contract(product, result);
  for (size_t i = 1; i < terms.size(); ++i) {
    Term factors[] = {product, terms[i]};
    Labels kept = result;
    if (i + 1 < terms.size()) {
      // Keep the labels that are needed later, in the order of the result if possible.
      auto isThere = [&](int label) {
        return llvm::is_contained(factors[0].labels, label) ||
               llvm::is_contained(factors[1].labels, label);
      };
      llvm::erase_if(kept, [&](int label) { return !isThere(label); });
      for (const Term &later : ArrayRef(terms).drop_front(i + 1))
        for (int label : later.labels)
          if (isThere(label) && !llvm::is_contained(kept, label))
            kept.push_back(label);
    }
    product = {contract(factors, kept), kept};
  }
  return product.tensor;
}

LogicalResult bppsa::importEinsum(Node &node) {
  Equation equation(node);
  if (failed(equation.read()))
    return failure();
  return node.setOutput(0, equation.build());
}
