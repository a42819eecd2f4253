//===- LoopBuilder.cpp - build recurrences from subgraphs -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"
#include "../Sequences/TensorList.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;

SmallVector<int64_t> LoopLayout::getBodyAxes(int64_t rank) const {
  SmallVector<int64_t> axes;
  int64_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    bool isLeft = (stepAxis == i && !keepsStepAxis) || (rowAxis == i && !keepsRowAxis);
    axes.push_back(isLeft ? -1 : next++);
  }
  return axes;
}

static SmallVector<int64_t> getLoopOrder(int64_t rank, const LoopLayout &layout) {
  SmallVector<int64_t> order;
  for (std::optional<int64_t> axis : {layout.stepAxis, layout.rowAxis})
    if (axis)
      order.push_back(*axis);
  for (int64_t i = 0; i < rank; ++i)
    if (i != layout.stepAxis && i != layout.rowAxis)
      order.push_back(i);
  return order;
}

static SmallVector<int64_t> getKeptAxes(int64_t rank, const LoopLayout &layout, int64_t leading) {
  SmallVector<int64_t> kept, axes = layout.getBodyAxes(rank);
  for (int64_t i = 0; i < rank; ++i)
    if ((i == layout.stepAxis || i == layout.rowAxis) && axes[i] >= 0)
      kept.push_back(axes[i] + leading);
  return kept;
}

Tensor bppsa::toLoopOrder(GraphBuilder &graph, const Tensor &array, const LoopLayout &layout,
                          Dim rows) {
  int64_t rank = array.getRank(), rowPosition = layout.stepAxis ? 1 : 0;
  Tensor result = graph.makeTranspose(array, getLoopOrder(rank, layout));
  if (!layout.rowAxis) {
    result = graph.makeUnsqueeze(result, rowPosition);
    SmallVector<Dim> dims(result.dims);
    dims[rowPosition] = rows;
    result = *graph.makeBroadcast(result, dims);
  }
  SmallVector<int64_t> kept = getKeptAxes(rank, layout, rowPosition + 1);
  return kept.empty() ? result : graph.makeUnsqueeze(result, kept);
}

Tensor bppsa::fromLoopOrder(GraphBuilder &graph, const Tensor &array, const LoopLayout &layout) {
  int64_t leading = layout.stepAxis ? 2 : 1;
  int64_t rank = array.getRank() - layout.keepsStepAxis - layout.keepsRowAxis;
  SmallVector<int64_t> kept = getKeptAxes(rank, layout, leading);
  Tensor result = kept.empty() ? array : graph.makeSqueeze(array, kept);
  if (!layout.rowAxis) {
    // All rows are equal, so taking one of them does not mark the batch axis as cut.
    if (Dim &rows = result.dims[leading - 1]; !rows.isOne()) {
      rows = Dim{rows.size, {Factor{rows.size, -1}}};
      result = graph.makeSlice(result, leading - 1, graph.getExpr(0), graph.getExpr(1));
    }
    result = graph.makeSqueeze(result, {leading - 1});
    --rank;
  }
  SmallVector<int64_t> order = getLoopOrder(rank, layout), inverse(order.size());
  for (auto [i, axis] : llvm::enumerate(order))
    inverse[axis] = i;
  return graph.makeTranspose(result, inverse);
}

LoopBuilder::LoopBuilder(GraphImporter &importer, Scope &outer, std::string what, Dim rows,
                         int rowClass)
    : scope(&outer, [this](StringRef name, const Tensor &tensor) { return capture(name, tensor); }),
      importer(importer), graph(importer.graph), what(std::move(what)), rows(rows),
      rowClass(rowClass), body(&region.emplaceBlock()), outside(graph.builder.saveInsertionPoint()),
      sizes(graph), numDropouts(graph.numDropouts), numTrainingModes(graph.numTrainingModes) {
  graph.builder.setInsertionPointToEnd(body);
}

LoopBuilder::~LoopBuilder() { graph.builder.restoreInsertionPoint(outside); }

InFlightDiagnostic LoopBuilder::error() const { return emitError(importer.file.location) << what; }

Value LoopBuilder::addArgument(unsigned position, Value operand, unsigned leadingDims) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto inner =
      RankedTensorType::get(type.getShape().drop_front(leadingDims), type.getElementType());
  Value argument = body->insertArgument(position, inner, graph.loc);
  graph.outerValues[argument] = operand;
  return argument;
}

Value LoopBuilder::getOutside(const Tensor &tensor) {
  OpBuilder::InsertionGuard guard(graph.builder);
  graph.builder.restoreInsertionPoint(outside);
  Value value = graph.getValue(tensor);
  outside = graph.builder.saveInsertionPoint();
  return value;
}

Tensor LoopBuilder::addSequence(const Tensor &sequence) {
  Value operand = getOutside(sequence);
  Value argument = addArgument(sequences.size(), operand, 2);
  sequences.push_back(operand);
  return graph.make(argument, ArrayRef(sequence.dims).drop_front(2));
}

Tensor LoopBuilder::addState(const Tensor &state) {
  Value operand = getOutside(state);
  Value argument = addArgument(sequences.size() + initial.size(), operand, 1);
  initial.push_back(operand);
  return graph.make(argument, ArrayRef(state.dims).drop_front(1));
}

Tensor LoopBuilder::captureRows(const Tensor &outer, int64_t rowAxis) {
  LoopLayout layout;
  layout.rowAxis = rowAxis;
  layout.keepsRowAxis = true;
  Tensor state;
  {
    OpBuilder::InsertionGuard guard(graph.builder);
    graph.builder.restoreInsertionPoint(outside);
    state = toLoopOrder(graph, outer, layout, rows);
    outside = graph.builder.saveInsertionPoint();
  }
  Tensor inner = addState(state);
  constantStates.push_back(inner.value);
  return inner;
}

FailureOr<Tensor> LoopBuilder::captureList(StringRef name, const TensorList &outer) {
  TensorList inner;
  for (const ListPart &part : outer.parts) {
    bool isFixed =
        llvm::all_of(part.tensor.dims, [](const Dim &dim) { return getConstant(dim.size); });
    // The body may index other parts by the iteration number, or read the length.
    if (part.kind == ListPart::Hidden || (part.kind == ListPart::Stack && !isFixed)) {
      inner.parts.push_back({ListPart::Hidden, {}, part.reads, part.getCount(graph.getContext())});
      continue;
    }
    FailureOr<Tensor> tensor = capture(name, part.tensor);
    if (failed(tensor))
      return failure();
    inner.parts.push_back({part.kind, *tensor});
  }
  return makeList(std::move(inner));
}

FailureOr<Tensor> LoopBuilder::capture(StringRef name, const Tensor &outer) {
  if (outer.list)
    return captureList(name, *outer.list);
  auto isConstant = [](AffineExpr expr) { return getConstant(expr).has_value(); };
  if (outer.elements && llvm::all_of(*outer.elements, isConstant))
    return Tensor{outer.elementType, outer.dims, {}, outer.elements};
  std::optional<int64_t> rowAxis;
  for (auto [i, dim] : llvm::enumerate(outer.dims))
    if (!rowAxis && rowClass >= 0 && graph.axes.find(graph.getOrigin(dim)) == rowClass)
      rowAxis = i;
  for (auto [i, dim] : llvm::enumerate(outer.dims))
    if (!isConstant(dim.size) && rowAxis != static_cast<int64_t>(i))
      return error() << "the body reads " << quoted(name) << " of shape "
                     << graph.describeShape(outer)
                     << ", accepted: fixed sizes; make it an input of the loop, or give the "
                        "dimension a size with --bind=NAME=NUMBER";
  if (rowAxis)
    return captureRows(outer, *rowAxis);
  OpBuilder &builder = graph.builder;
  OpBuilder::InsertionGuard guard(builder);
  if (outer.value && matchPattern(outer.value, m_Constant())) {
    builder.setInsertionPointToStart(body);
    return graph.make(builder.clone(*outer.value.getDefiningOp())->getResult(0), outer.dims);
  }
  Value operand = getOutside(outer);
  Value argument = addArgument(body->getNumArguments(), operand, 0);
  captures.push_back(operand);
  return graph.make(argument, outer.dims);
}

FailureOr<LoopBuilder::Results>
LoopBuilder::finish(ArrayRef<Tensor> states, ArrayRef<Tensor> outputs, Dim steps, bool reverse) {
  if (graph.numDropouts != numDropouts)
    return error() << "the body has a Dropout with training_mode, which is not supported inside of "
                      "a loop; set it to false";
  if (graph.numTrainingModes != numTrainingModes)
    return error() << "the body has a BatchNormalization with training_mode 1, which is not "
                      "supported inside of a loop; set it to 0";
  OpBuilder &builder = graph.builder;
  auto getLoopDims = [&](ArrayRef<Dim> leading, const Tensor &inner) {
    SmallVector<Dim> dims(leading);
    dims.append(inner.dims.begin(), inner.dims.end());
    return dims;
  };
  SmallVector<Value> yielded;
  SmallVector<Type> types, outputTypes;
  Dim slots = graph.getDim(*addExprs(steps.size, graph.getExpr(1)));
  auto add = [&](const Tensor &inner, Dim time, SmallVectorImpl<Type> &list) {
    yielded.push_back(graph.getValue(inner));
    list.push_back(graph.getType(getLoopDims({time, rows}, inner), inner.elementType));
  };
  for (const Tensor &state : states)
    add(state, slots, types);
  for (Value state : constantStates)
    add(graph.make(state, graph.getDims(cast<RankedTensorType>(state.getType()).getShape())), slots,
        types);
  for (const Tensor &output : outputs)
    add(output, steps, outputTypes);
  YieldOp::create(builder, graph.loc, yielded);

  sizes.close();
  builder.restoreInsertionPoint(outside);
  Value count = sequences.empty()
                    ? getValueOrCreateConstantIndexOp(builder, graph.loc, graph.getSize(steps.size))
                    : Value();
  auto loop = RecurrenceOp::create(builder, graph.loc, types, outputTypes, sequences, initial,
                                   captures, {reverse, count});
  loop.getBody().takeBody(region);
  outside = builder.saveInsertionPoint();

  Results results;
  for (auto [state, value] : llvm::zip(states, loop.getTrajectories())) {
    Tensor trajectory = graph.make(value, getLoopDims({slots, rows}, state));
    AffineExpr last = reverse ? graph.getExpr(0) : steps.size;
    Tensor slice = graph.makeSlice(trajectory, 0, last, graph.getExpr(1));
    results.states.push_back(graph.makeSqueeze(slice, {0}));
  }
  for (auto [output, value] : llvm::zip_equal(outputs, loop.getOutputs()))
    results.outputs.push_back(graph.make(value, getLoopDims({steps, rows}, output)));
  return results;
}
