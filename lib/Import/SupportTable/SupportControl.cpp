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
          .note("`cond` must follow from constants, sizes and bound inputs (`--bind`)."));
  table.push_back(
      Row("Loop", importLoop)
          .optional("M", Integers)
          .optional("cond", Bool)
          .variadic("v_initial", AnyElement | ListOfTensors)
          .variadicOut("v_final_and_scan_outputs")
          .attr("body", Kind::Graph)
          .required()
          .note(
              "`M` must be constant, bound or computed from sizes, `cond` true and the condition "
              "that the body returns true or the one it is given. A step may pick its slice of an "
              "array or its element of a list with `Gather` or `SequenceAt`, at the iteration "
              "number "
              "times a constant plus a size. A list to which each step appends becomes a sequence "
              "of "
              "the loop. Loops of at most 64 steps are unrolled where their bodies need "
              "the iteration number as a constant."));
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
              "An axis of samples may be symbolic where the body treats its positions alike and "
              "keeps them apart; all other sizes are fixed. In opset 8 the body is written out for "
              "each of at most 64 samples, and `sequence_lens` is refused."));
}
