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
}
