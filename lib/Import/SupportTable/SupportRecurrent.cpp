//===- SupportRecurrent.cpp - rows of recurrent layers --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

static Row makeRecurrentRow(StringRef name) {
  using Kind = AttributeKind;
  return Row(name, importRecurrent)
      .in("X")
      .in("W")
      .in("R")
      .optional("B")
      .optional("sequence_lens", Integers)
      .optional("initial_h")
      .optionalOut("Y")
      .optionalOut("Y_h")
      .attr("direction", Kind::String)
      .accepts(std::vector<std::string>{"forward", "reverse", "bidirectional"})
      .attr("hidden_size", Kind::Int)
      .attr("activations", Kind::Strings)
      .accepts(std::vector<std::string>{"Tanh", "Relu", "Sigmoid", "Affine", "LeakyRelu",
                                        "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu",
                                        "Softsign", "Softplus"})
      .attr("layout", Kind::Int, {14})
      .accepts(zeroOrOne)
      .attr("activation_alpha", Kind::Floats)
      .attr("activation_beta", Kind::Floats)
      .attr("clip", Kind::Float)
      .note("Activations take their parameters from `activation_alpha` and `activation_beta` in "
            "order; Affine and ScaledTanh have no defaults. As in ONNX Runtime, `clip` limits what "
            "the "
            "activations of gates and candidates take, not that of the state of an LSTM. A program "
            "refuses an array of lengths "
            "with one below 1 or above the number of steps; a length that the graph computes is "
            "not checked, and one out of range means the nearest number of steps from 0 on.");
}

void bppsa::addRecurrentRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  auto add = [&](const Row &row) { table.push_back(row); };
  add(makeRecurrentRow("GRU").attr("linear_before_reset", Kind::Int).accepts(zeroOrOne));
  add(makeRecurrentRow("LSTM")
          .optional("initial_c")
          .optional("P")
          .optionalOut("Y_c")
          .attr("input_forget", Kind::Int)
          .accepts(zeroOrOne));
  add(makeRecurrentRow("RNN"));
}
