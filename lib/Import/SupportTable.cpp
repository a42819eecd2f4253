//===- SupportTable.cpp - what the importer accepts -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportTable.h"
#include "OpImporters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
const std::vector<int64_t> zeroOrOne = {0, 1};

/// Writes one row of the table.
class Row {
public:
  Row(StringRef name, LogicalResult (*import)(Node &), OpsetRange opsets = {}) {
    rule.name = name.str();
    rule.import = import;
    rule.opsets = opsets;
  }
  operator OpRule() const { return rule; }

  Row &in(StringRef name, unsigned types = F32, OpsetRange opsets = {}) {
    rule.inputs.push_back({name.str(), OperandStatus::Required, types, opsets});
    return *this;
  }
  Row &optional(StringRef name, unsigned types = F32, OpsetRange opsets = {}) {
    rule.inputs.push_back({name.str(), OperandStatus::Optional, types, opsets});
    return *this;
  }
  Row &variadic(StringRef name, unsigned types = AnyElement) {
    rule.inputs.push_back({name.str(), OperandStatus::Variadic, types, {}});
    return *this;
  }
  Row &refusedInput(StringRef name) {
    rule.inputs.push_back({name.str(), OperandStatus::Refused, AnyElement, {}});
    return *this;
  }

  Row &out(StringRef name) {
    rule.outputs.push_back({name.str(), OperandStatus::Required, AnyElement, {}});
    return *this;
  }
  Row &optionalOut(StringRef name) {
    rule.outputs.push_back({name.str(), OperandStatus::Optional, AnyElement, {}});
    return *this;
  }
  Row &variadicOut(StringRef name) {
    rule.outputs.push_back({name.str(), OperandStatus::Variadic, AnyElement, {}});
    return *this;
  }

  Row &attr(StringRef name, AttributeKind kind, OpsetRange opsets = {}) {
    rule.attributes.push_back({name.str(), kind, opsets, false, false, {}, {}});
    return *this;
  }
  Row &required() {
    rule.attributes.back().isRequired = true;
    return *this;
  }
  Row &requiring(StringRef name) {
    for (AttributeRule &attribute : rule.attributes)
      attribute.isRequired |= attribute.name == name;
    return *this;
  }
  Row &accepts(std::vector<int64_t> values) {
    rule.attributes.back().integers = std::move(values);
    return *this;
  }
  Row &accepts(std::vector<std::string> values) {
    rule.attributes.back().strings = std::move(values);
    return *this;
  }
  Row &refused(StringRef name, AttributeKind kind, OpsetRange opsets = {}) {
    rule.attributes.push_back({name.str(), kind, opsets, false, true, {}, {}});
    return *this;
  }

  Row &note(StringRef text) {
    rule.note = text.str();
    return *this;
  }

  /// The attributes of ops whose windows slide over spatial axes.
  Row &windowed(OpsetRange dilations = {}) {
    using Kind = AttributeKind;
    return attr("auto_pad", Kind::String)
        .accepts(std::vector<std::string>{"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"})
        .attr("dilations", Kind::Ints, dilations)
        .attr("kernel_shape", Kind::Ints)
        .attr("pads", Kind::Ints)
        .attr("strides", Kind::Ints);
  }

  /// The operands and attributes that RNN, GRU and LSTM share.
  Row &recurrent() {
    using Kind = AttributeKind;
    return in("X")
        .in("W")
        .in("R")
        .optional("B")
        .refusedInput("sequence_lens")
        .optional("initial_h")
        .optionalOut("Y")
        .optionalOut("Y_h")
        .attr("direction", Kind::String)
        .accepts(std::vector<std::string>{"forward", "reverse", "bidirectional"})
        .attr("hidden_size", Kind::Int)
        .attr("activations", Kind::Strings)
        .accepts(std::vector<std::string>{"Tanh", "Relu", "Sigmoid"})
        .attr("layout", Kind::Int, {14})
        .accepts(zeroOrOne)
        .refused("activation_alpha", Kind::Floats)
        .refused("activation_beta", Kind::Floats)
        .refused("clip", Kind::Float);
  }

private:
  OpRule rule;
};
} // namespace

static void addActivations(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  auto add = [&](StringRef name, LogicalResult (*import)(Node &), OpsetRange opsets = {}) -> Row {
    return Row(name, import, opsets).in("X").out("Y");
  };
  table.push_back(add("Elu", importElu).attr("alpha", Kind::Float));
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
                      .attr("min", Kind::Float, {oldestOpset, 10})
                      .attr("max", Kind::Float, {oldestOpset, 10})
                      .note("`min` and `max` must be constants or initializers, which are then "
                            "not trained."));
}

static void addWindows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  table.push_back(Row("Conv", importConv)
                      .in("X")
                      .in("W")
                      .optional("B")
                      .out("Y")
                      .windowed()
                      .attr("group", Kind::Int)
                      .note("Any number of spatial axes. `W` has fixed sizes."));
  table.push_back(Row("MaxPool", importMaxPool)
                      .in("X")
                      .out("Y")
                      .optionalOut("Indices")
                      .windowed({10})
                      .attr("ceil_mode", Kind::Int, {10})
                      .accepts(zeroOrOne)
                      .attr("storage_order", Kind::Int, {8})
                      .accepts(zeroOrOne)
                      .requiring("kernel_shape")
                      .note("`Indices`, the only output that `storage_order` concerns, must not "
                            "be used. The gradient goes to the first largest element."));
  table.push_back(Row("AveragePool", importAveragePool)
                      .in("X")
                      .out("Y")
                      .windowed({19})
                      .attr("ceil_mode", Kind::Int, {10})
                      .accepts(zeroOrOne)
                      .attr("count_include_pad", Kind::Int)
                      .accepts(zeroOrOne)
                      .requiring("kernel_shape"));
  table.push_back(Row("GlobalAveragePool", importGlobalAveragePool).in("X").out("Y"));
  table.push_back(Row("Pad", importPad)
                      .in("data")
                      .in("pads", Integers, {11})
                      .optional("constant_value", F32, {11})
                      .optional("axes", Integers, {18})
                      .out("output")
                      .attr("mode", Kind::String)
                      .accepts(std::vector<std::string>{"constant"})
                      .attr("pads", Kind::Ints, {oldestOpset, 10})
                      .required()
                      .attr("value", Kind::Float, {oldestOpset, 10})
                      .note("`pads` must be constant and not negative, `constant_value` a "
                            "constant or an initializer, which is then not trained."));
}

static std::vector<OpRule> makeTable() {
  using Kind = AttributeKind;
  constexpr unsigned numbers = F32 | Integers;
  std::vector<OpRule> table;
  auto add = [&](const Row &row) { table.push_back(row); };
  addActivations(table);
  addWindows(table);

  // Recurrent layers.
  add(Row("GRU", importRecurrent)
          .recurrent()
          .attr("linear_before_reset", Kind::Int)
          .accepts(zeroOrOne));
  add(Row("LSTM", importRecurrent)
          .recurrent()
          .optional("initial_c")
          .refusedInput("P")
          .optionalOut("Y_c")
          .attr("input_forget", Kind::Int)
          .accepts(std::vector<int64_t>{0}));
  add(Row("RNN", importRecurrent).recurrent());

  // Elementwise.
  for (StringRef name : {"Add", "Div", "Mul", "Sub"})
    add(Row(name, importBinary).in("A", numbers).in("B", numbers).out("C"));
  for (StringRef name : {"Abs", "Neg"})
    add(Row(name, importUnary).in("X", numbers).out("Y"));
  for (StringRef name : {"Erf", "Exp", "Log", "Tanh"})
    add(Row(name, importUnary, {name == "Erf" ? 9 : oldestOpset}).in("input").out("output"));
  for (StringRef name : {"Relu", "Sigmoid", "Sqrt"})
    add(Row(name, importUnary).in("X").out("Y"));
  add(Row("Pow", importPow).in("X").in("Y", numbers).out("Z"));
  add(Row("Equal", importBinary).in("A", Integers | Bool).in("B", Integers | Bool).out("C"));
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
          .note("`to`: 1 is float, 6 int32, 7 int64, 9 bool. `saturate` concerns float8 only."));
  add(Row("Identity", importIdentity).in("input", AnyElement).out("output"));
  add(Row("Dropout", importDropout)
          .in("data")
          .optional("ratio", F32, {12})
          .optional("training_mode", Bool, {12})
          .out("output")
          .optionalOut("mask")
          .attr("ratio", Kind::Float, {7, 11})
          .attr("seed", Kind::Int, {12})
          .note("Where `training_mode` is the constant true, training drops elements; evaluation, "
                "inference and `grad` do not. Otherwise the identity. `mask` must not be used."));

  // Products.
  add(Row("MatMul", importMatMul).in("A").in("B").out("Y"));
  add(Row("Gemm", importGemm)
          .in("A")
          .in("B")
          .optional("C")
          .out("Y")
          .attr("alpha", Kind::Float)
          .attr("beta", Kind::Float)
          .attr("transA", Kind::Int)
          .attr("transB", Kind::Int)
          .note("`C` is required before opset 11."));

  // Reductions and normalisation.
  for (StringRef name : {"ReduceMean", "ReduceSum"}) {
    int64_t lastAttribute = name == "ReduceSum" ? 12 : 17;
    add(Row(name, importReduce)
            .in("data")
            .optional("axes", Integers, {lastAttribute + 1})
            .out("reduced")
            .attr("axes", Kind::Ints, {oldestOpset, lastAttribute})
            .attr("keepdims", Kind::Int)
            .accepts(zeroOrOne)
            .attr("noop_with_empty_axes", Kind::Int, {lastAttribute + 1})
            .accepts(zeroOrOne)
            .note("The input `axes` must be constant."));
  }
  for (StringRef name : {"LogSoftmax", "Softmax"})
    add(Row(name, importSoftmax)
            .in("input")
            .out("output")
            .attr("axis", Kind::Int)
            .note("Before opset 13 over all dimensions from `axis` on, as ONNX defines it."));
  add(Row("LayerNormalization", importLayerNormalization, {17})
          .in("X")
          .in("Scale")
          .optional("B")
          .out("Y")
          .optionalOut("Mean")
          .optionalOut("InvStdDev")
          .attr("axis", Kind::Int)
          .attr("epsilon", Kind::Float)
          .attr("stash_type", Kind::Int)
          .accepts(std::vector<int64_t>{1}));

  add(Row("BatchNormalization", importBatchNormalization)
          .in("X")
          .in("scale")
          .in("B")
          .in("input_mean")
          .in("input_var")
          .out("Y")
          .optionalOut("running_mean")
          .optionalOut("running_var")
          .optionalOut("saved_mean")
          .optionalOut("saved_var")
          .attr("epsilon", Kind::Float)
          .attr("momentum", Kind::Float)
          .attr("spatial", Kind::Int, {oldestOpset, 8})
          .accepts(std::vector<int64_t>{1})
          .attr("training_mode", Kind::Int, {14})
          .accepts(zeroOrOne)
          .note("`input_mean` and `input_var` are not trained. With `training_mode` 1 the "
                "statistics are those of the batch wherever the model runs, evaluation included; "
                "the running outputs can be used, the initializers keep their values. Without it "
                "only `Y` can be used."));

  // Shapes.
  add(Row("Transpose", importTranspose)
          .in("data", AnyElement)
          .out("transposed")
          .attr("perm", Kind::Ints));
  add(Row("Reshape", importReshape)
          .in("data", AnyElement)
          .in("shape", Integers)
          .out("reshaped")
          .attr("allowzero", Kind::Int, {14})
          .accepts(zeroOrOne)
          .note("`shape` must be constant or computed from sizes."));
  for (StringRef name : {"Squeeze", "Unsqueeze"}) {
    bool isSqueeze = name == "Squeeze";
    Row row(name, isSqueeze ? importSqueeze : importUnsqueeze);
    row.in("data", AnyElement);
    if (isSqueeze)
      row.optional("axes", Integers, {13}).out("squeezed");
    else
      row.in("axes", Integers, {13}).out("expanded");
    row.attr("axes", Kind::Ints, {oldestOpset, 12});
    if (!isSqueeze)
      row.required();
    add(row.note("The input `axes` must be constant."));
  }
  add(Row("Flatten", importFlatten).in("input", AnyElement).out("output").attr("axis", Kind::Int));
  add(Row("Concat", importConcat)
          .variadic("inputs")
          .out("concat_result")
          .attr("axis", Kind::Int)
          .required());
  add(Row("Split", importSplit)
          .in("input", AnyElement)
          .optional("split", Integers, {13})
          .variadicOut("outputs")
          .attr("axis", Kind::Int)
          .attr("split", Kind::Ints, {oldestOpset, 12})
          .attr("num_outputs", Kind::Int, {18})
          .note("The input `split` must be constant or computed from sizes."));
  add(Row("Expand", importExpand, {8})
          .in("input", AnyElement)
          .in("shape", Integers)
          .out("output")
          .note("`shape` must be constant or computed from sizes."));
  add(Row("Shape", importShape)
          .in("data", AnyElement)
          .out("shape")
          .attr("start", Kind::Int, {15})
          .attr("end", Kind::Int, {15}));
  add(Row("Size", importSize).in("data", AnyElement).out("size"));
  add(Row("Constant", importConstant)
          .out("output")
          .attr("value", Kind::Tensor)
          .attr("value_float", Kind::Float, {12})
          .attr("value_floats", Kind::Floats, {12})
          .attr("value_int", Kind::Int, {12})
          .attr("value_ints", Kind::Ints, {12})
          .refused("value_string", Kind::String, {12})
          .refused("value_strings", Kind::Strings, {12})
          .refused("sparse_value", Kind::SparseTensor, {11})
          .note("Elements are float, int32, int64 or bool."));
  add(Row("ConstantOfShape", importConstantOfShape, {9})
          .in("input", Integers)
          .out("output")
          .attr("value", Kind::Tensor)
          .note("The shape must be constant or computed from sizes."));
  add(Row("Range", importRange, {11})
          .in("start", Integers)
          .in("limit", Integers)
          .in("delta", Integers)
          .out("output")
          .attr("stash_type", Kind::Int, {27})
          .note("All three inputs must be constant."));

  // Control flow.
  add(Row("If", importIf)
          .in("cond", Bool)
          .variadicOut("outputs")
          .attr("else_branch", Kind::Graph)
          .required()
          .attr("then_branch", Kind::Graph)
          .required()
          .note("`cond` must follow from constants, sizes and bound inputs (`--bind`)."));

  // Indices.
  add(Row("Slice", importSlice)
          .in("data", AnyElement)
          .in("starts", Integers, {10})
          .in("ends", Integers, {10})
          .optional("axes", Integers, {10})
          .optional("steps", Integers, {10})
          .out("output")
          .attr("starts", Kind::Ints, {oldestOpset, 9})
          .required()
          .attr("ends", Kind::Ints, {oldestOpset, 9})
          .required()
          .attr("axes", Kind::Ints, {oldestOpset, 9})
          .note("Bounds must be constant or computed from sizes. Where one lies inside a dynamic "
                "dimension only if that is large enough (`x[:5]`, `x[-5:]`), a program demands "
                "it: the model needs T >= 5."));
  add(Row("Gather", importGather)
          .in("data", AnyElement)
          .in("indices", Integers)
          .out("output")
          .attr("axis", Kind::Int)
          .note("Constant indices may demand a least size, as bounds of Slice do. A program "
                "refuses an array whose elements are the indices when one is out of range. One "
                "that the graph computes is not checked and takes the nearest element."));
  add(Row("ScatterND", importScatterND, {11})
          .in("data", Integers)
          .in("indices", Integers)
          .in("updates", Integers)
          .out("output")
          .attr("reduction", Kind::String, {16})
          .accepts(std::vector<std::string>{"none"})
          .note("Only on integers that are constant or computed from sizes."));

  llvm::sort(table, [](const OpRule &a, const OpRule &b) { return a.name < b.name; });
  return table;
}

const std::vector<OpRule> &bppsa::getSupportTable() {
  static const std::vector<OpRule> table = makeTable();
  return table;
}

const OpRule *bppsa::findOp(StringRef name) {
  const std::vector<OpRule> &table = getSupportTable();
  auto it = llvm::find_if(table, [&](const OpRule &rule) { return rule.name == name; });
  return it == table.end() ? nullptr : &*it;
}
