//===- SupportShapes.cpp - rows of ops on shapes and indices --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addShapeRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  auto add = [&](const Row &row) { table.push_back(row); };
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
    row.attr("axes", Kind::Ints, {kOldestOpset, 12});
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
          .attr("split", Kind::Ints, {kOldestOpset, 12})
          .attr("num_outputs", Kind::Int, {18})
          .note("The input `split` must be constant or computed from sizes."));
  add(Row("Expand", importExpand, {8})
          .in("input", AnyElement)
          .in("shape", Integers)
          .out("output")
          .note("`shape` must be constant or computed from sizes."));
  add(Row("Tile", importTile)
          .in("input", AnyElement)
          .in("repeats", Integers)
          .out("output")
          .note("`repeats` must be constant or computed from sizes."));
  add(Row("Trilu", importTrilu, {14})
          .in("input", AnyElement)
          .optional("k", Integers)
          .out("output")
          .attr("upper", Kind::Int)
          .accepts(zeroOrOne)
          .note("`k` must be constant."));
  add(Row("RotaryEmbedding", importRotaryEmbedding, {23})
          .in("X")
          .in("cos_cache")
          .in("sin_cache")
          .optional("position_ids", Integers)
          .out("Y")
          .attr("interleaved", Kind::Int)
          .accepts(zeroOrOne)
          .attr("num_heads", Kind::Int)
          .attr("rotary_embedding_dim", Kind::Int)
          .note("Out-of-range `position_ids` are handled in the same manner as Gather indices."));
  add(Row("DepthToSpace", importDepthToSpace)
          .in("input", AnyElement)
          .out("output")
          .attr("blocksize", Kind::Int)
          .required()
          .attr("mode", Kind::String, {11})
          .accepts(std::vector<std::string>{"DCR", "CRD"}));
  add(Row("SpaceToDepth", importDepthToSpace)
          .in("input", AnyElement)
          .out("output")
          .attr("blocksize", Kind::Int)
          .required()
          .attr("mode", Kind::String, {28})
          .accepts(std::vector<std::string>{"DCR", "CRD"}));
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
          .note("Elements must be float, int32, int64 or bool."));
  add(Row("ConstantOfShape", importConstantOfShape, {9})
          .in("input", Integers)
          .out("output")
          .attr("value", Kind::Tensor)
          .note("The shape must be constant or computed from sizes."));
  add(Row("Range", importRange, {11})
          .in("start", F32 | Integers)
          .in("limit", F32 | Integers)
          .in("delta", F32 | Integers)
          .out("output")
          .attr("stash_type", Kind::Int, {27})
          .note("All three inputs must be constant."));
}

void bppsa::addIndexRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  auto add = [&](const Row &row) { table.push_back(row); };
  add(Row("Slice", importSlice)
          .in("data", AnyElement)
          .in("starts", Integers, {10})
          .in("ends", Integers, {10})
          .optional("axes", Integers, {10})
          .optional("steps", Integers, {10})
          .out("output")
          .attr("starts", Kind::Ints, {kOldestOpset, 9})
          .required()
          .attr("ends", Kind::Ints, {kOldestOpset, 9})
          .required()
          .attr("axes", Kind::Ints, {kOldestOpset, 9})
          .note("Bounds must be constant or computed from sizes. If the bounds depend on data, the "
                "end must be the start plus a constant. The slice then has this constant size, and "
                "its start is clamped so that the slice lies inside the dimension. A bound such as "
                "`x[:5]` or `x[-5:]` requires a minimum size of a dynamic dimension. If an array "
                "is smaller, the program reports: the model needs T >= 5."));
  add(Row("Gather", importGather)
          .in("data", AnyElement)
          .in("indices", Integers)
          .out("output")
          .attr("axis", Kind::Int)
          .note("Constant indices may require a minimum size, as Slice bounds do. If the elements "
                "of an input array are used as the indices, a program refuses arrays with "
                "out-of-range elements. Indices that the graph computes are not checked; an "
                "out-of-range index reads the nearest element."));
  add(Row("OneHot", importOneHot, {9})
          .in("indices", F32 | Integers)
          .in("depth", F32 | Integers)
          .in("values", F32 | Integers)
          .out("output")
          .attr("axis", Kind::Int)
          .note("`depth` must be constant or computed from sizes. As in ONNX, an out-of-range "
                "index gives a row that contains only the first element of `values`."));
  add(Row("GatherElements", importGatherElements, {11})
          .in("data", AnyElement)
          .in("indices", Integers)
          .out("output")
          .attr("axis", Kind::Int)
          .note("Out-of-range indices are handled as in Gather."));
  add(Row("GatherND", importGatherND, {11})
          .in("data", AnyElement)
          .in("indices", Integers)
          .out("output")
          .attr("batch_dims", Kind::Int, {12})
          .note("Out-of-range indices are handled as in Gather, but only indices into one "
                "dimension are checked."));
  add(Row("TensorScatter", importTensorScatter, {24})
          .in("past_cache", AnyElement)
          .in("update", AnyElement)
          .optional("write_indices", Integers)
          .out("present_cache")
          .attr("axis", Kind::Int)
          .attr("mode", Kind::String)
          .accepts(std::vector<std::string>{"linear", "circular"})
          .note("A linear write skips the elements that lie outside the cache. A program refuses a "
                "`write_indices` array that would cause such a write."));
  for (StringRef name : {"ScatterElements", "ScatterND"}) {
    Row row(name, name == "ScatterND" ? importScatterND : importScatterElements, {11});
    row.in("data", AnyElement).in("indices", Integers).in("updates", AnyElement).out("output");
    if (name == "ScatterElements")
      row.attr("axis", Kind::Int);
    add(row.attr("reduction", Kind::String, {16})
            .accepts(std::vector<std::string>{"none", "add", "mul", "max", "min"})
            .note("Without `reduction`, the last of several updates of an element takes effect and "
                  "receives the gradient. The reductions `max` and `min` share the gradient as Max "
                  "and Min do. With `reduction`, the time is proportional to the number of updates "
                  "times the number of positions they can target. Bool tensors do not support "
                  "`reduction`. Out-of-range indices are handled as in Gather."));
  }
}
