//===- SupportControl.cpp - rows of control flow --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addControlRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  table.push_back(
      Row("If", importIf)
          .in("cond", Bool)
          .variadicOut("outputs")
          .attr("else_branch", Kind::Graph)
          .required()
          .attr("then_branch", Kind::Graph)
          .required()
          .note("`cond` must be computed from constants, sizes and inputs bound with `--bind`."));
  table.push_back(
      Row("Loop", importLoop)
          .optional("M", Integers)
          .optional("cond", Bool)
          .variadic("v_initial", AnyElement | ListOfTensors)
          .variadicOut("v_final_and_scan_outputs")
          .attr("body", Kind::Graph)
          .required()
          .note(
              "`M` must be constant, bound with `--bind` or computed from sizes. `cond` must be "
              "true. The body must return either true or its own condition input as the condition. "
              "A step may read a slice of an array with `Gather`, or an element of a list with "
              "`SequenceAt`. The index must be the iteration number times a constant, plus a size. "
              "A list that every step appends to becomes a sequence of the loop. A loop of at most "
              "64 steps is unrolled if its body needs the iteration number as a constant."));
  table.push_back(
      Row("Scan", importScan, {8})
          .optional("sequence_lens", Integers, {8, 8})
          .variadic("initial_state_and_scan_inputs")
          .variadicOut("final_state_and_scan_outputs")
          .attr("body", Kind::Graph)
          .required()
          .attr("num_scan_inputs", Kind::Int)
          .required()
          .attr("directions", Kind::Ints, {8, 8})
          .attr("scan_input_axes", Kind::Ints, {9})
          .attr("scan_input_directions", Kind::Ints, {9})
          .attr("scan_output_axes", Kind::Ints, {9})
          .attr("scan_output_directions", Kind::Ints, {9})
          .note(
              "A batch axis may be symbolic if the body processes all samples identically and "
              "independently. All other sizes in the body must be fixed. In opset 8, the body is "
              "expanded once per sample, for at most 64 samples, and `sequence_lens` is refused."));
}
