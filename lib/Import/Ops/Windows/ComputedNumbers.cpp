//===- ComputedNumbers.cpp - evaluate numbers made from sizes -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ComputedNumbers.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

std::optional<double> ScaledSize::getNumber() const {
  std::optional<int64_t> constant = getConstant(size);
  return constant ? std::optional<double>(factor * *constant) : std::nullopt;
}

MaybeExpr ScaledSize::getExpr() const {
  if (std::optional<double> number = getNumber())
    return *number == std::floor(*number)
               ? MaybeExpr(getAffineConstantExpr(static_cast<int64_t>(*number), size.getContext()))
               : std::nullopt;
  if (factor != std::floor(factor))
    return std::nullopt;
  return multiplyExprs(size,
                       getAffineConstantExpr(static_cast<int64_t>(factor), size.getContext()));
}

namespace {
using Numbers = std::optional<SmallVector<ScaledSize>>;

class Evaluator {
public:
  explicit Evaluator(const Node &node) : node(node) {}
  Numbers evaluate(StringRef name, int depth = 0);

private:
  static constexpr int kMaxDepth = 32;

  ScaledSize makeNumber(double value) const { return {value, node.graph.getExpr(1)}; }
  Numbers readConstant(const Tensor &tensor) const;
  Numbers evaluateNode(const onnx::NodeProto &producer, int depth);
  std::optional<ScaledSize> combine(bool isQuotient, const ScaledSize &a,
                                    const ScaledSize &b) const;
  /// Rounds down.
  std::optional<ScaledSize> floor(const ScaledSize &value) const;

  const Node &node;
};
} // namespace

Numbers Evaluator::readConstant(const Tensor &tensor) const {
  SmallVector<ScaledSize> numbers;
  if (tensor.elements) {
    for (AffineExpr element : *tensor.elements)
      numbers.push_back({1, element});
    return numbers;
  }
  DenseElementsAttr elements;
  if (!tensor.value || !tensor.elementType.isF32() ||
      !matchPattern(tensor.value, m_Constant(&elements)))
    return std::nullopt;
  for (const APFloat &value : elements.getValues<APFloat>())
    numbers.push_back(makeNumber(value.convertToFloat()));
  return numbers;
}

std::optional<ScaledSize> Evaluator::combine(bool isQuotient, const ScaledSize &a,
                                             const ScaledSize &b) const {
  std::optional<double> first = a.getNumber(), second = b.getNumber();
  if (isQuotient) {
    if (second && *second != 0)
      return ScaledSize{a.factor / *second, a.size};
    MaybeExpr quotient = second ? std::nullopt : divideExactly(a.size, b.size);
    return quotient ? std::optional(ScaledSize{a.factor / b.factor, *quotient}) : std::nullopt;
  }
  if (second)
    return ScaledSize{a.factor * *second, a.size};
  return first ? std::optional(ScaledSize{*first * b.factor, b.size}) : std::nullopt;
}

std::optional<ScaledSize> Evaluator::floor(const ScaledSize &value) const {
  if (std::optional<double> number = value.getNumber())
    return makeNumber(std::floor(*number));
  return value.factor == std::floor(value.factor) ? std::optional(value) : std::nullopt;
}

Numbers Evaluator::evaluateNode(const onnx::NodeProto &producer, int depth) {
  StringRef op = producer.op_type();
  bool isFloatCast = op == "Cast" && producer.attribute_size() == 1 &&
                     producer.attribute(0).i() == onnx::TensorProto::FLOAT;
  bool isRounded = op == "Floor" || (op == "Cast" && !isFloatCast);
  bool isBinary = op == "Mul" || op == "Div";
  bool isMoved = isFloatCast || op == "Identity" || op == "Unsqueeze" || op == "Squeeze";
  if (!isRounded && !isBinary && !isMoved && op != "Concat")
    return std::nullopt;
  SmallVector<SmallVector<ScaledSize>> operands;
  for (int i = 0, e = op == "Concat" || isBinary ? producer.input_size() : 1; i < e; ++i) {
    Numbers operand = evaluate(producer.input(i), depth + 1);
    if (!operand)
      return std::nullopt;
    operands.push_back(std::move(*operand));
  }
  SmallVector<ScaledSize> result;
  if (isBinary) {
    ArrayRef<ScaledSize> a = operands[0], b = operands[1];
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
      return std::nullopt;
    for (size_t i = 0, e = std::max(a.size(), b.size()); i < e; ++i) {
      auto value = combine(op == "Div", a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
      if (!value)
        return std::nullopt;
      result.push_back(*value);
    }
    return result;
  }
  for (ArrayRef<ScaledSize> operand : operands)
    for (const ScaledSize &value : operand) {
      std::optional<ScaledSize> rounded = isRounded ? floor(value) : value;
      if (!rounded)
        return std::nullopt;
      result.push_back(*rounded);
    }
  return result;
}

Numbers Evaluator::evaluate(StringRef name, int depth) {
  FailureOr<const Tensor *> tensor = node.scope.lookup(name);
  if (failed(tensor) || !*tensor || depth > kMaxDepth)
    return std::nullopt;
  if (Numbers constant = readConstant(**tensor))
    return constant;
  for (const onnx::NodeProto &producer : node.parent.node())
    if (llvm::is_contained(producer.output(), name.str()))
      return evaluateNode(producer, depth);
  return std::nullopt;
}

std::optional<SmallVector<ScaledSize>> bppsa::evaluateNumbers(const Node &node, size_t index) {
  return Evaluator(node).evaluate(node.proto.input(static_cast<int>(index)));
}
