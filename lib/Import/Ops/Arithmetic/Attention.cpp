//===- Attention.cpp - Attention ------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The scores of hidden keys are minus infinity, so their weights are zero and no gradient passes
// through them.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/TensorMath.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace bppsa;

namespace {
enum Input : size_t { Queries, Keys, Values, Mask, PastKeys, PastValues, Lengths };
enum Output : size_t { Result, PresentKeys, PresentValues, Scores };

/// Tensors are [batch, heads, steps, size]. Several query heads may share one head of keys and
/// values.
class AttentionImporter {
public:
  explicit AttentionImporter(Node &node) : node(node), graph(node.graph) {}
  LogicalResult import();

private:
  FailureOr<Tensor> splitHeads(size_t index, StringRef heads);
  FailureOr<Tensor> appendToPast(const Tensor &present, size_t past);
  LogicalResult readOperands();
  LogicalResult checkOperands();
  /// Multiplies each head of `left`, [.., M, K], with the head of `right` that it uses.
  Tensor multiply(const Tensor &left, const Tensor &right, bool isTransposed);
  FailureOr<Tensor> makeScores();
  FailureOr<Tensor> limitScores(const Tensor &scores);
  FailureOr<Tensor> readMask(const Tensor &scores);
  FailureOr<Tensor> applyMask(const Tensor &scores);
  FailureOr<Tensor> hideByPosition(const Tensor &scores);
  Value isSeen(OpBuilder &b, Location loc, Value length);
  Tensor normalize(const Tensor &scores);
  LogicalResult setResult(const Tensor &result);

  Node &node;
  GraphBuilder &graph;
  Tensor query, key, value;
  AffineExpr pastSteps, querySteps;
  Value pastSize, querySize, keySize;
  int64_t left = -1, right = -1;
};
} // namespace

constexpr float kHidden = -std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

FailureOr<Tensor> AttentionImporter::splitHeads(size_t index, StringRef heads) {
  const Tensor &x = node.input(index);
  int64_t rank = x.getRank(), count = node.getInt(heads, 0);
  if (failed(node.requireRank(index, node.input(Queries).getRank())))
    return failure();
  std::optional<int64_t> width = getConstant(x.dims.back().size);
  if (!width)
    return node.emitError() << "input " << quoted(node.proto.input(index))
                            << " has a last dimension of size "
                            << graph.describe(x.dims.back().size)
                            << ", accepted: a fixed size; --bind=NAME=NUMBER gives it one";
  if (rank == 4) {
    if (node.hasAttribute(heads) && getConstant(x.dims[1].size) != count)
      return node.emitError() << "attribute " << quoted(heads) << " is " << count
                              << ", accepted for inputs of rank 4: none, or the "
                              << graph.describe(x.dims[1].size) << " heads that they have";
    return x;
  }
  if (count < 1 || *width % count != 0)
    return node.emitError() << "attribute " << quoted(heads) << " is " << count
                            << ", accepted: a divisor of the last dimension of size " << *width;
  Tensor split = graph.makeReshape(
      x, {x.dims[0], x.dims[1], graph.getDim(count), graph.getDim(*width / count)});
  return graph.makeTranspose(split, {0, 2, 1, 3});
}

FailureOr<Tensor> AttentionImporter::appendToPast(const Tensor &present, size_t past) {
  if (!node.hasInput(past))
    return present;
  if (failed(node.requireRank(past, 4)))
    return failure();
  FailureOr<Tensor> joined = graph.makeConcat({node.input(past), present}, 2);
  if (failed(joined))
    return node.emitShapeError();
  return joined;
}

LogicalResult AttentionImporter::checkOperands() {
  auto unify = [&](const Tensor &a, const Tensor &b, int64_t axis) {
    return succeeded(graph.unify(a.dims[axis], b.dims[axis]));
  };
  if (!unify(query, key, 0) || !unify(query, value, 0) || !unify(key, value, 1) ||
      !unify(key, value, 2) || !unify(query, key, 3))
    return node.emitShapeError();
  std::optional<int64_t> heads = getConstant(query.dims[1].size),
                         shared = getConstant(key.dims[1].size);
  if (!heads || !shared || *heads % *shared != 0)
    return node.emitError() << "has " << graph.describe(query.dims[1].size)
                            << " heads of queries and " << graph.describe(key.dims[1].size)
                            << " of keys, accepted: a fixed number, and a divisor of it";
  if (node.hasInput(Lengths)) {
    if (failed(node.requireRank(Lengths, 1)))
      return failure();
    if (failed(graph.unify(query.dims[0], node.input(Lengths).dims[0])))
      return node.emitShapeError();
    if (node.hasInput(PastKeys) || node.wantsOutput(PresentKeys) || node.wantsOutput(PresentValues))
      return node.emitError() << "has 'nonpad_kv_seqlen' and past or present keys and values, "
                                 "accepted: one of the two";
  }
  return success();
}

LogicalResult AttentionImporter::readOperands() {
  int64_t rank = node.input(Queries).getRank();
  if (rank != 3 && rank != 4)
    return node.emitError() << "input 'Q' has rank " << rank << ", accepted: 3 or 4";
  if (node.hasInput(PastKeys) != node.hasInput(PastValues))
    return node.emitError() << "has one of the inputs 'past_key' and 'past_value', accepted: "
                               "both or none";
  FailureOr<Tensor> q = splitHeads(Queries, "q_num_heads"), k = failure(), v = failure();
  if (failed(q) || failed(k = splitHeads(Keys, "kv_num_heads")) ||
      failed(v = splitHeads(Values, "kv_num_heads")) || failed(k = appendToPast(*k, PastKeys)) ||
      failed(v = appendToPast(*v, PastValues)))
    return failure();
  query = *q;
  key = *k;
  value = *v;
  querySteps = query.dims[2].size;
  pastSteps = node.hasInput(PastKeys) ? node.input(PastKeys).dims[2].size : graph.getExpr(0);
  left = node.getInt("left_window_size", -1);
  right = node.getInt("right_window_size", -1);
  for (StringRef name : {"left_window_size", "right_window_size"})
    if (int64_t size = node.getInt(name, -1); size < -1 || size > (int64_t(1) << 31))
      return node.emitError() << "attribute " << quoted(name) << " is " << size
                              << ", accepted: -1 to 2^31";
  return checkOperands();
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Tensor AttentionImporter::multiply(const Tensor &a, const Tensor &b, bool isTransposed) {
  int64_t heads = *getConstant(a.dims[1].size), shared = *getConstant(b.dims[1].size);
  bool isGrouped = heads != shared;
  unsigned m = isGrouped ? 3 : 2, n = m + 1, k = m + 2;
  Dim columns = b.dims[isTransposed ? 2 : 3];
  SmallVector<Dim> rows = {a.dims[0], b.dims[1]};
  if (isGrouped)
    rows.push_back(graph.getDim(heads / shared));
  rows.push_back(a.dims[2]);
  SmallVector<Dim> dims = rows;
  rows.push_back(a.dims[3]);
  dims.push_back(columns);
  auto getMap = [&](ArrayRef<unsigned> loops) {
    return AffineMap::getMultiDimMapWithTargets(k + 1, loops, graph.getContext());
  };
  SmallVector<unsigned> outer = llvm::to_vector(llvm::seq<unsigned>(0, n)), ofRows = outer,
                        ofResult = outer;
  ofRows.push_back(k);
  ofResult.push_back(n);
  AffineMap ofColumns = isTransposed ? getMap({0, 1, n, k}) : getMap({0, 1, k, n});
  Tensor product = graph.makeContraction(graph.makeReshape(a, rows), b, dims,
                                         {getMap(ofRows), ofColumns, getMap(ofResult)});
  return graph.makeReshape(product, {a.dims[0], a.dims[1], a.dims[2], columns});
}

FailureOr<Tensor> AttentionImporter::makeScores() {
  double size = *getConstant(query.dims[3].size);
  double scale = node.getFloat("scale", static_cast<float>(1 / std::sqrt(size)));
  if (!(scale >= 0))
    return node.emitError() << "attribute 'scale' is " << describeNumber(scale)
                            << ", accepted: at least 0";
  Tensor scaled = makeFormula(graph, query, [&](const Formula &f, ValueRange in) {
    return f.mul(in[0], f.constant(scale));
  });
  return multiply(scaled, key, /*isTransposed=*/true);
}

FailureOr<Tensor> AttentionImporter::limitScores(const Tensor &scores) {
  double most = node.getFloat("softcap", 0);
  if (!(most >= 0))
    return node.emitError() << "attribute 'softcap' is " << describeNumber(most)
                            << ", accepted: at least 0";
  if (most == 0)
    return scores;
  return makeFormula(graph, scores, [&](const Formula &f, ValueRange in) {
    return f.mul(f.tanh(f.div(in[0], f.constant(most))), f.constant(most));
  });
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Returns whether the initializer hides keys. A learned bias does not.
static FailureOr<bool> hidesAnything(Node &node, const onnx::TensorProto &initializer) {
  FailureOr<DenseElementsAttr> elements =
      decodeTensor(node.file, initializer, "initializer " + quoted(initializer.name()));
  if (failed(elements))
    return failure();
  return llvm::any_of(elements->getValues<APFloat>(),
                      [](const APFloat &element) { return element.convertToFloat() < -1e4f; });
}

FailureOr<Tensor> AttentionImporter::readMask(const Tensor &scores) {
  Tensor mask = node.input(Mask);
  bool isFloat = mask.elementType.isF32();
  const onnx::TensorProto *initializer = node.initializers.lookup(node.proto.input(Mask));
  if (isFloat && initializer) {
    FailureOr<bool> hides = hidesAnything(node, *initializer);
    if (failed(hides))
      return failure();
    if (*hides)
      node.freeze(Mask);
  }
  mask.value = graph.getValue(mask);
  mask.elements.reset();
  // Keys that the mask does not cover are hidden.
  if (mask.getRank() != 0) {
    std::optional<int64_t> given = getConstant(mask.dims.back().size),
                           keys = getConstant(scores.dims[3].size);
    if (given && keys && *given < *keys) {
      if (*given == 1)
        return node.emitError() << "input 'attn_mask' has a last dimension of size 1 for " << *keys
                                << " keys, which could be repeated or filled up; accepted: "
                                << *keys << ", or 2 to " << *keys;
      SmallVector<int64_t> before(mask.getRank(), 0), after = before;
      after.back() = *keys - *given;
      OpBuilder &b = graph.builder;
      mask = graph.makePadded(mask, before, after,
                              isFloat ? TypedAttr(b.getF32FloatAttr(kHidden))
                                      : TypedAttr(b.getBoolAttr(false)));
    }
  }
  FailureOr<SmallVector<Dim>> common = graph.broadcast(scores.dims, mask.dims);
  if (failed(common) || common->size() != 4 ||
      llvm::any_of(llvm::zip(*common, scores.dims),
                   [](auto pair) { return std::get<0>(pair).size != std::get<1>(pair).size; }))
    return node.emitError() << "input 'attn_mask' has shape "
                            << node.describeShape(node.input(Mask))
                            << ", accepted: a shape that broadcasts to "
                            << node.describeShape(scores);
  return mask;
}

FailureOr<Tensor> AttentionImporter::applyMask(const Tensor &scores) {
  if (!node.hasInput(Mask))
    return scores;
  FailureOr<Tensor> mask = readMask(scores);
  if (failed(mask))
    return failure();
  return makeFormula(graph, {scores, *mask}, [&](const Formula &f, ValueRange in) {
    return mask->elementType.isF32() ? f.add(in[0], in[1])
                                     : f.select(in[1], in[0], f.constant(kHidden));
  });
}

Value AttentionImporter::isSeen(OpBuilder &b, Location loc, Value length) {
  using Predicate = arith::CmpIPredicate;
  Value position = linalg::IndexOp::create(b, loc, 3);
  Value offset = length ? arith::SubIOp::create(b, loc, length, querySize).getResult() : pastSize;
  Value own = arith::AddIOp::create(b, loc, linalg::IndexOp::create(b, loc, 2), offset);
  Value seen;
  auto require = [&](Predicate predicate, Value bound) {
    Value holds = arith::CmpIOp::create(b, loc, predicate, position, bound);
    seen = seen ? arith::AndIOp::create(b, loc, seen, holds).getResult() : holds;
  };
  auto shift = [&](int64_t distance) -> Value {
    return arith::AddIOp::create(b, loc, own, arith::ConstantIndexOp::create(b, loc, distance));
  };
  if (length)
    require(Predicate::slt, length);
  if (node.getInt("is_causal", 0) == 1)
    require(Predicate::sle, own);
  if (right >= 0)
    require(Predicate::sle, shift(right));
  if (left >= 0)
    require(Predicate::sge, shift(-left));
  return seen;
}

FailureOr<Tensor> AttentionImporter::hideByPosition(const Tensor &scores) {
  bool hasLengths = node.hasInput(Lengths);
  if (node.getInt("is_causal", 0) == 0 && left < 0 && right < 0 && !hasLengths)
    return scores;
  graph.mark(scores.dims[2], Cut);
  graph.mark(scores.dims[3], Cut);
  auto makeSize = [&](AffineExpr size) {
    return getValueOrCreateConstantIndexOp(graph.builder, graph.loc, graph.getSize(size));
  };
  querySize = makeSize(querySteps);
  pastSize = makeSize(pastSteps);
  keySize = makeSize(key.dims[2].size);
  AffineMap all = graph.builder.getMultiDimIdentityMap(4);
  SmallVector<Tensor> inputs = {scores};
  SmallVector<AffineMap> maps = {all};
  if (hasLengths) {
    inputs.push_back(node.input(Lengths));
    maps.push_back(all.getMajorSubMap(1));
  }
  maps.push_back(all);
  Tensor empty = graph.make(graph.makeEmpty(scores.dims, scores.elementType), scores.dims);
  return graph.makeGeneric(inputs, empty, maps, [&](OpBuilder &b, Location loc, ValueRange in) {
    Formula f{b, loc, scores.elementType};
    Value length;
    if (hasLengths) {
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      length = arith::IndexCastOp::create(b, loc, b.getIndexType(), in[1]);
      length = arith::MaxSIOp::create(b, loc, length, zero);
      length = arith::MinSIOp::create(b, loc, length, keySize);
    }
    return f.select(isSeen(b, loc, length), in[0], f.constant(kHidden));
  });
}

//===----------------------------------------------------------------------===//
// Weights and result
//===----------------------------------------------------------------------===//

Tensor AttentionImporter::normalize(const Tensor &scores) {
  // Subtracting the maximum, if it is finite, only changes the range of exp.
  Tensor shift =
      makeFormula(graph, graph.makeMaximum(scores, 3), [](const Formula &f, ValueRange in) {
        Value isFinite = f.compare(arith::CmpFPredicate::UGT, in[0], kHidden);
        return f.select(isFinite, in[0], f.constant(0));
      });
  Tensor weights = apply<math::ExpOp>(graph, combine<arith::SubFOp>(graph, scores, shift));
  Tensor sum = graph.makeSum(weights, 3);
  return makeFormula(graph, {weights, sum}, [](const Formula &f, ValueRange in) {
    Value isZero = f.compare(arith::CmpFPredicate::OEQ, in[1], 0);
    return f.divFinite(in[0], f.select(isZero, f.constant(1), in[1]));
  });
}

LogicalResult AttentionImporter::setResult(const Tensor &result) {
  if (node.input(Queries).getRank() == 4)
    return node.setOutput(Result, result);
  Tensor moved = graph.makeTranspose(result, {0, 2, 1, 3});
  Dim width = graph.getDim(*getConstant(moved.dims[2].size) * *getConstant(moved.dims[3].size));
  return node.setOutput(Result, graph.makeReshape(moved, {moved.dims[0], moved.dims[1], width}));
}

LogicalResult AttentionImporter::import() {
  if (failed(readOperands()))
    return failure();
  FailureOr<Tensor> scores = makeScores(), limited = failure(), masked = failure();
  if (failed(scores) || failed(limited = limitScores(*scores)) ||
      failed(masked = applyMask(*limited)) || failed(masked = hideByPosition(*masked)))
    return failure();
  Tensor weights = normalize(*masked);
  const Tensor *stages[] = {&*scores, &*limited, &*masked, &weights};
  if (failed(node.setOutput(PresentKeys, key)) || failed(node.setOutput(PresentValues, value)) ||
      failed(node.setOutput(Scores, *stages[node.getInt("qk_matmul_output_mode", 0)])))
    return failure();
  return setResult(multiply(weights, value, /*isTransposed=*/false));
}

LogicalResult bppsa::importAttention(Node &node) { return AttentionImporter(node).import(); }
