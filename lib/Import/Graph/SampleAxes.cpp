//===- SampleAxes.cpp - find the batch axes of a graph --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SampleAxes.h"
#include "../Model/OnnxFile.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// A class of axes of inputs that may be the batch axis.
struct Candidate {
  int origin;
  AffineExpr size;
  SmallVector<int64_t> axes;
  bool isSingle = true;
  bool isCarried = false;
  /// A dimension of an output merges the axis with another factor, such as the rows of a sample.
  bool isRegrouped = false;
  bool mixes = false;

  bool isDynamic() const { return !getConstant(size); }
};

class LayoutFinder {
public:
  LayoutFinder(const GraphBuilder &graph, ArrayRef<BoundaryArray> arrays)
      : graph(graph), arrays(arrays) {}
  SmallVector<SampleLayout> run();

private:
  Candidate makeCandidate(const Dim &dim) const;
  void findCandidates();
  unsigned getFacts(const Candidate &candidate) const {
    return graph.axes.getFacts(candidate.origin);
  }
  SmallVector<int64_t> getNamedAxes(const BoundaryArray &array) const;
  bool isNamed(const Candidate &candidate) const;
  bool canBeDefault(const Candidate &candidate) const;
  bool canBeChosen(const Candidate &candidate) const;
  bool areCompatible(const Candidate &a, const Candidate &b) const;
  SampleLayout makeLayout(ArrayRef<const Candidate *> chosen) const;

  const GraphBuilder &graph;
  ArrayRef<BoundaryArray> arrays;
  SmallVector<Candidate, 0> candidates;
};
} // namespace

Candidate LayoutFinder::makeCandidate(const Dim &dim) const {
  Candidate candidate{graph.axes.find(graph.getOrigin(dim)), dim.size, {}};
  auto symbol = dyn_cast<AffineSymbolExpr>(dim.size);
  auto isPartOf = [&](const Dim &other) {
    return (symbol && other.size.isFunctionOfSymbol(symbol.getPosition())) ||
           llvm::any_of(other.factors, [&](const Factor &factor) {
             return graph.axes.find(factor.origin) == candidate.origin;
           });
  };
  candidate.mixes = getFacts(candidate) & Mixed;
  candidate.mixes |= graph.axes.meet(candidate.origin, candidate.origin);
  for (const BoundaryArray &array : arrays) {
    int64_t found = -1;
    bool isSpread = false;
    for (auto [i, other] : llvm::enumerate(array.dims)) {
      if (graph.axes.find(graph.getOrigin(other)) != candidate.origin) {
        bool isPart = isPartOf(other);
        isSpread |= isPart;
        candidate.isRegrouped |=
            isPart && !array.isInput && llvm::any_of(other.factors, [&](const Factor &factor) {
              return graph.axes.getFacts(factor.origin) & Split;
            });
        continue;
      }
      candidate.isSingle &= found < 0 || !array.isInput;
      isSpread |= found >= 0;
      found = i;
    }
    if (isSpread && !array.isInput) {
      candidate.mixes = true;
      found = -1;
    }
    candidate.axes.push_back(found);
    candidate.isCarried |= found >= 0 && !array.isInput;
  }
  return candidate;
}

void LayoutFinder::findCandidates() {
  // Fixed axes carry no samples if an axis is symbolic.
  for (bool isFixed : {false, true})
    for (const BoundaryArray &array : arrays)
      for (const Dim &dim : array.dims)
        if (array.isInput && getConstant(dim.size).has_value() == isFixed &&
            llvm::none_of(candidates, [&](const Candidate &known) {
              return known.origin == graph.axes.find(graph.getOrigin(dim));
            }))
          candidates.push_back(makeCandidate(dim));
}

SmallVector<int64_t> LayoutFinder::getNamedAxes(const BoundaryArray &array) const {
  SmallVector<int64_t> named;
  auto isDynamic = [](const Dim &dim) { return !getConstant(dim.size); };
  if (graph.axes.hasRoles()) {
    for (auto [i, dim] : llvm::enumerate(array.dims))
      if (graph.getRole(dim) == AxisRole::Batch)
        named.push_back(i);
  } else if (llvm::count_if(array.dims, isDynamic) == 1) {
    named.push_back(llvm::find_if(array.dims, isDynamic) - array.dims.begin());
  } else if (!array.dims.empty()) {
    named.push_back(0);
  }
  return named;
}

bool LayoutFinder::isNamed(const Candidate &candidate) const {
  return llvm::any_of(llvm::zip_equal(arrays, candidate.axes), [&](auto pair) {
    auto [array, axis] = pair;
    return array.isInput && llvm::is_contained(getNamedAxes(array), axis);
  });
}

/// Samples may be mixed along an axis that the graph suggests, for example by a loss.
bool LayoutFinder::canBeDefault(const Candidate &candidate) const {
  unsigned facts = getFacts(candidate);
  bool hasSamples = graph.axes.hasRoles() || !(facts & Pinned);
  return isNamed(candidate) && hasSamples && !(facts & Cut) && candidate.isSingle &&
         !candidate.isRegrouped &&
         (candidate.isCarried ||
          llvm::none_of(candidates, [&](const Candidate &other) { return canBeChosen(other); }));
}

bool LayoutFinder::canBeChosen(const Candidate &candidate) const {
  return !(getFacts(candidate) & (Pinned | Cut)) && !candidate.mixes && candidate.isSingle &&
         !candidate.isRegrouped && candidate.isCarried;
}

bool LayoutFinder::areCompatible(const Candidate &a, const Candidate &b) const {
  bool haveSize = (a.isDynamic() && b.isDynamic()) || a.size == b.size;
  return haveSize && !graph.axes.meet(a.origin, b.origin) &&
         llvm::all_of(llvm::zip_equal(a.axes, b.axes),
                      [](auto pair) { return std::get<0>(pair) < 0 || std::get<1>(pair) < 0; });
}

SampleLayout LayoutFinder::makeLayout(ArrayRef<const Candidate *> chosen) const {
  SampleLayout layout{SmallVector<int64_t>(arrays.size(), -1)};
  for (const Candidate *candidate : chosen) {
    for (auto [axis, found] : llvm::zip_equal(layout.axes, candidate->axes))
      axis = std::max(axis, found);
    layout.mixes |= candidate->mixes;
  }
  return layout;
}

SmallVector<SampleLayout> LayoutFinder::run() {
  findCandidates();
  SmallVector<const Candidate *> named;
  for (const Candidate &candidate : candidates)
    if (canBeDefault(candidate) && llvm::all_of(named, [&](const Candidate *other) {
          return areCompatible(candidate, *other);
        }))
      named.push_back(&candidate);
  SmallVector<SampleLayout> layouts = {makeLayout(named)};
  for (const Candidate &candidate : candidates) {
    if (!canBeChosen(candidate) || llvm::is_contained(named, &candidate))
      continue;
    SmallVector<const Candidate *> chosen = {&candidate};
    for (const Candidate *other : named)
      if (areCompatible(candidate, *other))
        chosen.push_back(other);
    layouts.push_back(makeLayout(chosen));
  }
  return layouts;
}

SmallVector<SampleLayout> bppsa::findSampleLayouts(const GraphBuilder &graph,
                                                   ArrayRef<BoundaryArray> arrays) {
  return LayoutFinder(graph, arrays).run();
}

void BoundaryArray::setAttr(func::FuncOp function, NamedAttribute attribute) const {
  if (isInput)
    function.setArgAttr(index, attribute.getName(), attribute.getValue());
  else
    function.setResultAttr(index, attribute.getName(), attribute.getValue());
}

static LogicalResult require(func::FuncOp function, ArrayRef<BoundaryArray> arrays,
                             ArrayRef<SampleLayout> layouts, const BatchAxisRequest &request,
                             BatchLayouts &choice) {
  const BoundaryArray *array = llvm::find_if(
      arrays, [&](const BoundaryArray &candidate) { return candidate.name == request.name; });
  if (array == arrays.end())
    return function.emitError() << "--batch-axis: the model has no input or output "
                                << quoted(request.name);
  BatchAxes axes;
  for (const SampleLayout &layout : layouts)
    axes.push_back(layout.axes[array - arrays.begin()]);
  std::string wrong = choice.require(axes, request.axis, quoted(request.name));
  return wrong.empty() ? success() : function.emitError() << wrong;
}

LogicalResult bppsa::setBatchAxes(func::FuncOp function, const GraphBuilder &graph,
                                  ArrayRef<BoundaryArray> arrays,
                                  ArrayRef<BatchAxisRequest> requests) {
  SmallVector<SampleLayout> layouts = findSampleLayouts(graph, arrays);
  BatchLayouts choice(layouts.size());
  for (const BatchAxisRequest &request : requests)
    if (failed(require(function, arrays, layouts, request, choice)))
      return failure();
  std::rotate(layouts.begin(), layouts.begin() + choice.choose(),
              layouts.begin() + choice.choose() + 1);
  Builder builder(function.getContext());
  for (auto [i, array] : llvm::enumerate(arrays)) {
    SmallVector<int64_t> axes = llvm::map_to_vector(
        layouts, [&, i = i](const SampleLayout &layout) { return layout.axes[i]; });
    if (axes.front() >= 0)
      array.setAttr(function, attrs::BatchAxis::make(builder.getI64IntegerAttr(axes.front())));
    if (layouts.size() > 1)
      array.setAttr(function, attrs::BatchAxes::make(builder.getDenseI64ArrayAttr(axes)));
  }
  SmallVector<bool> mixing =
      llvm::map_to_vector(layouts, [](const SampleLayout &layout) { return layout.mixes; });
  if (llvm::is_contained(mixing, true))
    attrs::MixingLayouts::set(function, builder.getDenseBoolArrayAttr(mixing));
  return success();
}
