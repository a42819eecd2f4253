//===- SupportReductions.cpp - rows of reductions and normalisation -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addReductionRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  auto add = [&](const Row &row) { table.push_back(row); };
  for (StringRef name : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                         "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    int64_t lastAttribute = name == "ReduceSum" ? 12 : 17;
    bool isExtremum = name == "ReduceMax" || name == "ReduceMin";
    StringRef ties = " All elements equal to the result share the gradient equally.";
    add(Row(name, importReduce)
            .in("data", isExtremum                                    ? AnyElement
                        : name == "ReduceSum" || name == "ReduceProd" ? F32 | Integers
                                                                      : F32)
            .optional("axes", Integers, {lastAttribute + 1})
            .out("reduced")
            .attr("axes", Kind::Ints, {kOldestOpset, lastAttribute})
            .attr("keepdims", Kind::Int)
            .accepts(zeroOrOne)
            .attr("noop_with_empty_axes", Kind::Int, {lastAttribute + 1})
            .accepts(zeroOrOne)
            .note(("The input `axes` must be constant." + (isExtremum ? ties : "")).str()));
  }
  for (StringRef name : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    bool isSoftmax = name == "SoftmaxCrossEntropyLoss";
    Row row(name, isSoftmax ? importSoftmaxCrossEntropyLoss : importNegativeLogLikelihoodLoss,
            {12});
    row.in(isSoftmax ? "scores" : "input")
        .in(isSoftmax ? "labels" : "target", Integers)
        .optional(isSoftmax ? "weights" : "weight")
        .out(isSoftmax ? "output" : "loss");
    if (isSoftmax)
      row.optionalOut("log_prob");
    add(row.attr("ignore_index", Kind::Int)
            .attr("reduction", Kind::String)
            .accepts(std::vector<std::string>{"none", "mean", "sum"})
            .note("This op is for models that compute their own loss (`--loss=none`). An "
                  "out-of-range class other than `ignore_index` makes the loss NaN."));
  }
  for (StringRef name : {"ArgMax", "ArgMin"})
    add(Row(name, importArgExtremum)
            .in("data")
            .out("reduced")
            .attr("axis", Kind::Int)
            .attr("keepdims", Kind::Int)
            .accepts(zeroOrOne)
            .attr("select_last_index", Kind::Int, {12})
            .accepts(zeroOrOne)
            .note("The integer result has no gradient."));
  for (auto [name, since] : {std::pair("CumSum", 11), std::pair("CumProd", 26)})
    add(Row(name, importCumulative, {since})
            .in("x", F32 | Integers)
            .in("axis", Integers)
            .out("y")
            .attr("exclusive", Kind::Int)
            .accepts(zeroOrOne)
            .attr("reverse", Kind::Int)
            .accepts(zeroOrOne)
            .note("`axis` must be constant."));
  add(Row("InstanceNormalization", importInstanceNormalization)
          .in("input")
          .in("scale")
          .in("B")
          .out("output")
          .attr("epsilon", Kind::Float));
  add(Row("GroupNormalization", importGroupNormalization, {18})
          .in("X")
          .in("scale")
          .in("bias")
          .out("Y")
          .attr("epsilon", Kind::Float)
          .attr("num_groups", Kind::Int)
          .required()
          .attr("stash_type", Kind::Int, {21})
          .accepts(std::vector<int64_t>{1})
          .note("`scale` and `bias` have one element per group before opset 21, and one per "
                "channel from opset 21 on."));
  add(Row("RMSNormalization", importRMSNormalization, {23})
          .in("X")
          .in("scale")
          .out("Y")
          .attr("axis", Kind::Int)
          .attr("epsilon", Kind::Float)
          .attr("stash_type", Kind::Int)
          .accepts(std::vector<int64_t>{1}));
  add(Row("LpNormalization", importLpNormalization)
          .in("input")
          .out("output")
          .attr("axis", Kind::Int)
          .attr("p", Kind::Int)
          .accepts(std::vector<int64_t>{1, 2})
          .note("If the norm is zero, the result is zero."));
  for (StringRef name : {"LogSoftmax", "Softmax"})
    add(Row(name, importSoftmax)
            .in("input")
            .out("output")
            .attr("axis", Kind::Int)
            .note("Before opset 13, the op normalizes over all dimensions from `axis` on, as ONNX "
                  "defines it."));
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
          .attr("spatial", Kind::Int, {kOldestOpset, 8})
          .accepts(std::vector<int64_t>{1})
          .attr("training_mode", Kind::Int, {14})
          .accepts(zeroOrOne)
          .note("`input_mean` and `input_var` are not trained. With `training_mode` 1, training "
                "normalizes by the batch statistics and updates these two initializers. "
                "Evaluation, inference and `grad` normalize by the initializers. If the two inputs "
                "are not initializers, every mode normalizes by the batch statistics. Without "
                "`training_mode`, only `Y` can be used. `training_mode` 1 is not supported inside "
                "a loop."));
}
