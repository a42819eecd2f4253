//===- SupportElementwise.cpp - rows of elementwise ops -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addActivationRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  auto add = [&](StringRef name, LogicalResult (*import)(Node &), OpsetRange opsets = {}) -> Row {
    return Row(name, import, opsets).in("X").out("Y");
  };
  table.push_back(add("Elu", importElu).attr("alpha", Kind::Float));
  table.push_back(add("Celu", importCelu, {12}).attr("alpha", Kind::Float));
  table.push_back(add("Mish", importMish, {18}));
  table.push_back(Row("Softsign", importSoftsign).in("input").out("output"));
  table.push_back(add("Swish", importSwish, {24}).attr("alpha", Kind::Float));
  table.push_back(
      Row("SwiGLU", importSwiGLU, {28}).in("A").in("B").out("Y").attr("alpha", Kind::Float));
  table.push_back(add("ThresholdedRelu", importThresholdedRelu, {10}).attr("alpha", Kind::Float));
  table.push_back(add("LeakyRelu", importLeakyRelu).attr("alpha", Kind::Float));
  table.push_back(add("Selu", importSelu).attr("alpha", Kind::Float).attr("gamma", Kind::Float));
  table.push_back(
      add("HardSigmoid", importHardSigmoid).attr("alpha", Kind::Float).attr("beta", Kind::Float));
  table.push_back(add("HardSwish", importHardSwish, {14}));
  table.push_back(add("Gelu", importGelu, {20})
                      .attr("approximate", Kind::String)
                      .accepts(std::vector<std::string>{"none", "tanh"}));
  table.push_back(add("Softplus", importSoftplus));
  table.push_back(Row("PRelu", importPRelu).in("X").in("slope").out("Y"));
  table.push_back(Row("Clip", importClip)
                      .in("input")
                      .optional("min", F32, {11})
                      .optional("max", F32, {11})
                      .out("output")
                      .attr("min", Kind::Float, {kOldestOpset, 10})
                      .attr("max", Kind::Float, {kOldestOpset, 10})
                      .note("`min` and `max` must be constants or initializers; such initializers "
                            "are not trained."));
}

void bppsa::addElementwiseRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  constexpr unsigned numbers = F32 | Integers;
  auto add = [&](const Row &row) { table.push_back(row); };
  for (StringRef name : {"Add", "Div", "Mul", "Sub"})
    add(Row(name, importBinary)
            .in("A", numbers)
            .in("B", numbers)
            .out("C")
            .note(name == "Div" ? "Integer quotients are rounded towards zero. Integer division by "
                                  "zero gives zero."
                                : ""));
  for (StringRef name : {"Abs", "Neg"})
    add(Row(name, importUnary).in("X", numbers).out("Y"));
  for (auto [name, since] :
       {std::pair("Atan", 7), std::pair("Cos", 7), std::pair("Erf", 9), std::pair("Exp", 7),
        std::pair("Log", 7), std::pair("Sign", 9), std::pair("Sin", 7), std::pair("Tanh", 7)})
    add(Row(name, importUnary, {since}).in("input").out("output"));
  for (auto [name, since] : {std::pair("Ceil", 7), std::pair("Floor", 7),
                             std::pair("Reciprocal", 7), std::pair("Relu", 7),
                             std::pair("Round", 11), std::pair("Sigmoid", 7), std::pair("Sqrt", 7)})
    add(Row(name, importUnary, {since}).in("X").out("Y"));
  for (StringRef name : {"Max", "Min"})
    add(Row(name, importVariadic)
            .variadic("data_0", numbers)
            .out(name.lower())
            .note("If two operands are equal, each receives half of the gradient."));
  add(Row("Sum", importVariadic).variadic("data_0", F32).out("sum"));
  add(Row("Mean", importVariadic).variadic("data_0", F32).out("mean"));
  add(Row("Mod", importMod, {10})
          .in("A", numbers)
          .in("B", numbers)
          .out("C")
          .attr("fmod", Kind::Int)
          .accepts(zeroOrOne)
          .note("`fmod` must be 1 for float inputs before opset 28. Integer divisors must be "
                "nonzero constants or sizes."));
  for (auto [name, since] : {std::pair("Greater", 7), std::pair("GreaterOrEqual", 12),
                             std::pair("Less", 7), std::pair("LessOrEqual", 12)})
    add(Row(name, importComparison, {since}).in("A", numbers).in("B", numbers).out("C"));
  for (StringRef name : {"And", "Or", "Xor"})
    add(Row(name, importLogic).in("A", Bool).in("B", Bool).out("C"));
  add(Row("Not", importLogic).in("X", Bool).out("Y"));
  add(Row("Pow", importPow)
          .in("X", numbers)
          .in("Y", numbers)
          .out("Z")
          .note("Integer powers are rounded towards zero."));
  add(Row("Equal", importComparison).in("A", AnyElement).in("B", AnyElement).out("C"));
  add(Row("Where", importWhere, {9})
          .in("condition", Bool)
          .in("X", AnyElement)
          .in("Y", AnyElement)
          .out("output"));
  add(Row("Cast", importCast)
          .in("input", AnyElement)
          .out("output")
          .attr("to", Kind::Int)
          .required()
          .accepts(std::vector<int64_t>{1, 6, 7, 9})
          .attr("saturate", Kind::Int, {19})
          .refused("round_mode", Kind::String, {24})
          .note("`to` is 1 for float, 6 for int32, 7 for int64 and 9 for bool. `saturate` applies "
                "to float8 only."));
  add(Row("CastLike", importCastLike, {15})
          .in("input", AnyElement)
          .in("target_type", AnyElement)
          .out("output")
          .attr("saturate", Kind::Int, {19})
          .refused("round_mode", Kind::String, {24})
          .note("`saturate` applies to float8 only."));
  add(Row("BitCast", importBitCast, {26})
          .in("input", AnyElement)
          .out("output")
          .attr("to", Kind::Int)
          .required()
          .accepts(std::vector<int64_t>{1, 6, 7, 9})
          .note("Supported between float and int32, or between identical types. Integers have no "
                "gradient. Conversion of the bits of computed floats back to float is refused, "
                "because the result has no gradient either."));
  add(Row("Identity", importIdentity).in("input", AnyElement | ListOfTensors).out("output"));
  add(Row("Dropout", importDropout)
          .in("data")
          .optional("ratio", F32, {12})
          .optional("training_mode", Bool, {12})
          .out("output")
          .optionalOut("mask")
          .attr("ratio", Kind::Float, {7, 11})
          .attr("seed", Kind::Int, {12})
          .note("If `training_mode` is the constant true, training drops elements; evaluation, "
                "inference and `grad` do not. In this case, `mask` must not be used. Otherwise the "
                "op is the identity, and all elements of `mask` are true."));
}
