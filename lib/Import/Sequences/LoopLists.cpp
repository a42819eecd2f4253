//===- LoopLists.cpp - lists that a loop carries --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopLists.h"
#include "../Ops/Shapes/IndexOps.h"

using namespace mlir;
using namespace bppsa;

LoopLists::LoopLists(Node &node, ArrayRef<State> states)
    : node(node), graph(node.graph), states(states) {
  for (auto [i, state] : llvm::enumerate(states)) {
    if (!state.second.list)
      continue;
    List list{i, state.first, state.second.list, false};
    FailureOr<SmallVector<Tensor>> elements = getListElements(graph, list.initial->parts);
    // Lists of states written by exporters are short. A longer list is treated as a sequence.
    constexpr size_t maxStates = 64;
    list.isFixed = succeeded(elements) && !elements->empty() && elements->size() <= maxStates;
    if (list.isFixed)
      list.elements = *elements;
    lists.push_back(std::move(list));
  }
}

InFlightDiagnostic LoopLists::emitListError(const List &list) const {
  InFlightDiagnostic diagnostic = node.emitError();
  diagnostic << "the list " << quoted(list.name) << " ";
  return diagnostic;
}

LoopLists::List *LoopLists::find(size_t state) {
  auto it = llvm::find_if(lists, [&](const List &list) { return list.state == state; });
  return it == lists.end() ? nullptr : &*it;
}

bool LoopLists::needsRetry() const {
  return isChanged || llvm::any_of(lists, [](const List &list) {
           return list.reads->first > list.known.first || list.reads->last > list.known.last;
         });
}

void LoopLists::prepareRetry() {
  isChanged = false;
  for (List &list : lists)
    list.known = *list.reads;
}

MaybeExpr LoopLists::getGrowingLength(StringRef name) {
  for (List &list : lists)
    if (list.name == name) {
      list.isFixed = false;
      list.growsByOne = true;
      return list.initial->getLength(graph.getContext());
    }
  return std::nullopt;
}

static LogicalResult takeElements(GraphBuilder &graph, const ListPart &part, int64_t count,
                                  bool fromEnd, SmallVectorImpl<Tensor> &elements) {
  int64_t missing = count - elements.size();
  if (part.kind == ListPart::Hidden) {
    if (part.reads) {
      int64_t &number = fromEnd ? part.reads->last : part.reads->first;
      number = std::max(number, missing);
    }
    return failure();
  }
  if (part.kind == ListPart::Element) {
    elements.push_back(part.tensor);
    return success();
  }
  AffineExpr size = part.tensor.dims.front().size;
  std::optional<int64_t> constant = getConstant(size);
  if (!constant && failed(graph.requireAtLeast(size, graph.getExpr(missing))))
    return failure();
  for (int64_t i = 0, e = std::min(missing, constant.value_or(missing)); i < e; ++i) {
    AffineExpr position = fromEnd ? *subtractExprs(size, graph.getExpr(i + 1)) : graph.getExpr(i);
    elements.push_back(makeListElement(graph, part.tensor, position));
  }
  return success();
}

/// Returns the first or last `count` elements of `parts`, in list order.
static FailureOr<SmallVector<Tensor>> takeElements(GraphBuilder &graph, ArrayRef<ListPart> parts,
                                                   int64_t count, bool fromEnd) {
  SmallVector<Tensor> elements;
  for (size_t i = 0; i < parts.size() && static_cast<int64_t>(elements.size()) != count; ++i)
    if (failed(takeElements(graph, parts[fromEnd ? parts.size() - 1 - i : i], count, fromEnd,
                            elements)))
      return failure();
  if (static_cast<int64_t>(elements.size()) != count)
    return failure();
  if (fromEnd)
    std::reverse(elements.begin(), elements.end());
  return elements;
}

FailureOr<SmallVector<Tensor>> LoopLists::getInitialStates(const List &list) {
  if (list.isFixed)
    return list.elements;
  FailureOr<SmallVector<Tensor>> first =
      takeElements(graph, list.initial->parts, list.known.first, /*fromEnd=*/false);
  FailureOr<SmallVector<Tensor>> last =
      takeElements(graph, list.initial->parts, list.known.last, /*fromEnd=*/true);
  if (failed(first) || failed(last)) {
    int64_t count = std::max(list.known.first, list.known.last);
    return emitListError(list) << "has no element " << (failed(first) ? count - 1 : -count)
                               << " before the first step, which the body reads";
  }
  first->append(*last);
  return first;
}

FailureOr<SmallVector<LoopLists::State>> LoopLists::getTensorStates() {
  SmallVector<State> result;
  for (const State &state : states)
    if (!state.second.list)
      result.push_back(state);
  for (const List &list : lists) {
    FailureOr<SmallVector<Tensor>> initial = getInitialStates(list);
    if (failed(initial))
      return failure();
    for (auto [i, tensor] : llvm::enumerate(*initial))
      result.push_back({getStateName(list, i), tensor});
  }
  return result;
}

LogicalResult LoopLists::define(Scope &scope) {
  for (List &list : lists) {
    SmallVector<Tensor> elements;
    for (size_t i = 0; i < countStates(list); ++i) {
      FailureOr<const Tensor *> element = scope.lookup(getStateName(list, i));
      if (failed(element) || !*element)
        return failure();
      elements.push_back(**element);
    }
    TensorList inner;
    auto add = [&](ArrayRef<Tensor> tensors) {
      for (const Tensor &tensor : tensors)
        inner.parts.push_back(ListPart::getElement(tensor));
    };
    if (list.isFixed) {
      add(elements);
    } else {
      list.first.assign(elements.begin(), elements.begin() + list.known.first);
      list.last.assign(elements.begin() + list.known.first, elements.end());
      add(list.first);
      inner.parts.push_back({ListPart::Hidden, {}, list.reads});
      add(list.last);
    }
    if (failed(node.importer.define(scope, list.name, makeList(std::move(inner)))))
      return failure();
  }
  return success();
}

LogicalResult LoopLists::addGrowth(List &list, Growth &growth, ArrayRef<ListPart> parts,
                                   SmallVectorImpl<Tensor> &added) {
  growth.isAny = !parts.empty();
  growth.isStack = parts.size() > 1 || (growth.isAny && parts.front().kind == ListPart::Stack);
  if (!growth.isAny)
    return success();
  if (!growth.isStack) {
    added.push_back(parts.front().tensor);
    return success();
  }
  FailureOr<Tensor> stack = stackList(graph, parts);
  if (failed(stack))
    return emitListError(list) << "gets elements of different shapes, accepted: one shape";
  added.push_back(*stack);
  return success();
}

static bool areElements(ArrayRef<ListPart> parts, ArrayRef<Tensor> tensors) {
  return llvm::all_of(llvm::zip_equal(parts, tensors), [](const auto &pair) {
    const auto &[part, tensor] = pair;
    return part.kind == ListPart::Element && part.tensor.value == tensor.value;
  });
}

FailureOr<SmallVector<Tensor>> LoopLists::getGrowingStates(List &list, const TensorList &after,
                                                           SmallVectorImpl<Tensor> &added) {
  const auto *hidden = llvm::find_if(after.parts, [&](const ListPart &part) {
    return part.kind == ListPart::Hidden && part.reads == list.reads;
  });
  ArrayRef<ListPart> parts(after.parts), before, behind;
  if (hidden != after.parts.end()) {
    before = parts.take_front(hidden - after.parts.begin());
    behind = parts.drop_front(before.size() + 1);
  }
  size_t numFirst = list.first.size(), numLast = list.last.size();
  if (hidden == after.parts.end() || before.size() < numFirst || behind.size() < numLast ||
      !areElements(before.take_back(numFirst), list.first) ||
      !areElements(behind.take_front(numLast), list.last))
    return emitListError(list) << "is changed by the body, accepted: a list to which each step "
                                  "appends at the start or the end, or one whose length is known "
                                  "and stays as it is";
  if (failed(addGrowth(list, list.front, before.drop_back(numFirst), added)) ||
      failed(addGrowth(list, list.back, behind.drop_front(numLast), added)))
    return failure();
  if (list.growsByOne && (list.front.isAny || !list.back.isAny || list.back.isStack))
    return emitListError(list) << "is read at the iteration number, accepted: a list to which each "
                                  "step appends one element at the end";
  FailureOr<SmallVector<Tensor>> first = takeElements(graph, before, numFirst, /*fromEnd=*/false);
  FailureOr<SmallVector<Tensor>> last = takeElements(graph, behind, numLast, /*fromEnd=*/true);
  if (failed(first) || failed(last))
    return emitListError(list) << "has no known number of elements in a step";
  first->append(*last);
  return first;
}

FailureOr<SmallVector<Tensor>> LoopLists::getNewStates(List &list, const Tensor &output,
                                                       SmallVectorImpl<Tensor> &added) {
  if (!output.list)
    return emitListError(list) << "is a tensor after a step, accepted: a list";
  if (!list.isFixed)
    return getGrowingStates(list, *output.list, added);
  FailureOr<SmallVector<Tensor>> elements = getListElements(graph, output.list->parts);
  if (succeeded(elements) && elements->size() == list.elements.size())
    return elements;
  list.isFixed = false;
  isChanged = true;
  return failure();
}

FailureOr<SmallVector<Tensor>> LoopLists::getTensorOutputs(ArrayRef<Tensor> outputs) {
  SmallVector<Tensor> tensors, fromLists, added;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (find(i))
      continue;
    if (output.list)
      return node.emitError()
             << "the body returns a list for an input that is not a list, accepted: tensors";
    tensors.push_back(output);
  }
  for (List &list : lists) {
    FailureOr<SmallVector<Tensor>> values = getNewStates(list, outputs[list.state], added);
    if (failed(values))
      return failure();
    fromLists.append(*values);
  }
  tensors.insert(tensors.begin() + (states.size() - lists.size()), fromLists.begin(),
                 fromLists.end());
  tensors.append(added);
  return tensors;
}

FailureOr<ListPart> LoopLists::getGrown(const List &list, const Growth &growth, const Tensor &array,
                                        bool isFront) {
  Tensor stack = isFront ? makeReversed(graph, array, 0) : array;
  if (!growth.isStack)
    return ListPart::getStack(stack);
  SmallVector<Dim> dims(stack.dims);
  MaybeExpr size = multiplyExprs(dims[0].size, dims[1].size);
  if (!size)
    return emitListError(list) << "has a length of too many terms";
  dims[0] = graph.getDim(*size);
  dims.erase(dims.begin() + 1);
  return ListPart::getStack(graph.makeReshape(stack, dims));
}

FailureOr<SmallVector<Tensor>> LoopLists::getResults(ArrayRef<Tensor> results) {
  SmallVector<Tensor> outputs;
  size_t numTensors = states.size() - lists.size(), next = numTensors, numAdded = 0;
  for (const List &list : lists) {
    next += countStates(list);
    numAdded += list.front.isAny + list.back.isAny;
  }
  ArrayRef<Tensor> added = results.take_back(numAdded),
                   sequences = results.drop_front(next).drop_back(numAdded);
  ArrayRef<Tensor> tensors = results.take_front(numTensors),
                   fromLists = results.slice(numTensors, next - numTensors);
  auto take = [&](const Growth &growth, const List &list, TensorList &whole,
                  bool isFront) -> LogicalResult {
    if (!growth.isAny)
      return success();
    FailureOr<ListPart> part = getGrown(list, growth, added.consume_front(), isFront);
    if (failed(part))
      return failure();
    whole.parts.insert(isFront ? whole.parts.begin() : whole.parts.end(), *part);
    return success();
  };
  for (size_t i = 0; i < states.size(); ++i) {
    const List *list = find(i);
    if (!list) {
      outputs.push_back(tensors.consume_front());
      continue;
    }
    TensorList whole;
    if (list->isFixed) {
      for (size_t element = 0; element < list->elements.size(); ++element)
        whole.parts.push_back(ListPart::getElement(fromLists.consume_front()));
    } else {
      fromLists = fromLists.drop_front(countStates(*list));
      whole = *list->initial;
      if (failed(take(list->front, *list, whole, true)) ||
          failed(take(list->back, *list, whole, false)))
        return failure();
    }
    outputs.push_back(makeList(std::move(whole)));
  }
  outputs.append(sequences.begin(), sequences.end());
  return outputs;
}
