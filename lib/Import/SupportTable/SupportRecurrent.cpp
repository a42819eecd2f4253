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
            "order. Affine and ScaledTanh have no default parameters. As in ONNX Runtime, `clip` "
            "limits the inputs of the gate and candidate activations, but not the input of the "
            "LSTM state activation. A program refuses a `sequence_lens` array with an element "
            "below 1 or above the number of steps. Lengths that the graph computes are not "
            "checked; they are clamped to the range from 0 to the number of steps.");
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
