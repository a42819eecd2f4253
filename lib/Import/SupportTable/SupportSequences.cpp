//===- SupportSequences.cpp - rows of ops on lists of tensors -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addSequenceRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  constexpr OpsetRange opsets = {11};
  constexpr StringRef position =
      "`position` must be constant or computed from sizes. In a `Loop`, it may also be the "
      "iteration number times a constant, plus a constant or a value computed from sizes.";
  auto add = [&](const Row &row) { table.push_back(row); };
  add(Row("SequenceEmpty", importSequenceEmpty, opsets)
          .out("output")
          .attr("dtype", Kind::Int)
          .note(
              "Lists exist only during compilation, so a graph input or output cannot be a list."));
  add(Row("SequenceConstruct", importSequenceConstruct, opsets)
          .variadic("inputs")
          .out("output_sequence"));
  add(Row("SequenceInsert", importSequenceInsert, opsets)
          .in("input_sequence", ListOfTensors)
          .in("tensor", AnyElement)
          .optional("position", Integers)
          .out("output_sequence")
          .note(position));
  add(Row("SequenceErase", importSequenceErase, opsets)
          .in("input_sequence", ListOfTensors)
          .optional("position", Integers)
          .out("output_sequence")
          .note(position));
  add(Row("SequenceAt", importSequenceAt, opsets)
          .in("input_sequence", ListOfTensors)
          .in("position", Integers)
          .out("tensor")
          .note(position));
  add(Row("SequenceLength", importSequenceLength, opsets)
          .in("input_sequence", ListOfTensors)
          .out("length")
          .note("The list must not grow in the loop that contains the node."));
  add(Row("SplitToSequence", importSplitToSequence, opsets)
          .in("input", AnyElement)
          .optional("split", Integers)
          .out("output_sequence")
          .attr("axis", Kind::Int)
          .attr("keepdims", Kind::Int)
          .accepts(zeroOrOne)
          .note("`split` must be constant or computed from sizes. A dynamic dimension can be split "
                "into parts of size 1, or of a size known to divide the dimension. `keepdims` 0 "
                "also removes the axis if `split` is the scalar 1, as in ONNX Runtime."));
  add(Row("ConcatFromSequence", importConcatFromSequence, opsets)
          .in("input_sequence", ListOfTensors)
          .out("concat_result")
          .attr("axis", Kind::Int)
          .required()
          .attr("new_axis", Kind::Int)
          .accepts(zeroOrOne));
}
