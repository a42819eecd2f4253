//===- SupportWindows.cpp - rows of products and sliding windows ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addWindowRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  table.push_back(Row("Conv", importConv)
                      .in("X")
                      .in("W")
                      .optional("B")
                      .out("Y")
                      .windowed()
                      .attr("group", Kind::Int)
                      .note("Any number of spatial axes is supported. `W` must have fixed sizes."));
  table.push_back(Row("ConvTranspose", importConvTranspose)
                      .in("X")
                      .in("W")
                      .optional("B")
                      .out("Y")
                      .windowed()
                      .attr("group", Kind::Int)
                      .attr("output_padding", Kind::Ints)
                      .attr("output_shape", Kind::Ints)
                      .note("Any number of spatial axes is supported. `W` must have fixed sizes."));
  using Names = std::vector<std::string>;
  table.push_back(
      Row("Resize", importResize, {11})
          .in("X")
          .optional("roi")
          .optional("scales")
          .optional("sizes", Integers)
          .out("Y")
          .attr("antialias", Kind::Int, {18})
          .accepts(zeroOrOne)
          .attr("axes", Kind::Ints, {18})
          .attr("coordinate_transformation_mode", Kind::String)
          .accepts(Names{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                         "align_corners", "asymmetric", "tf_crop_and_resize"})
          .attr("cubic_coeff_a", Kind::Float)
          .attr("exclude_outside", Kind::Int)
          .accepts(zeroOrOne)
          .attr("extrapolation_value", Kind::Float)
          .attr("keep_aspect_ratio_policy", Kind::String, {18})
          .accepts(Names{"stretch", "not_larger", "not_smaller"})
          .attr("mode", Kind::String)
          .accepts(Names{"nearest", "linear", "cubic"})
          .attr("nearest_mode", Kind::String)
          .accepts(Names{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
          .note("`scales` and `roi` must be constants or initializers; such initializers are not "
                "trained. `sizes` must be constant or computed from sizes. A resized axis must "
                "have fixed input and output sizes, unless the op only repeats its elements. Mode "
                "`nearest` does not support `antialias`."));
  table.push_back(Row("Upsample", importUpsample, {kOldestOpset, 9})
                      .in("X")
                      .in("scales", F32, {9})
                      .out("Y")
                      .attr("mode", Kind::String)
                      .accepts(Names{"nearest", "linear"})
                      .attr("scales", Kind::Floats, {kOldestOpset, 8})
                      .required()
                      .note("The op is equivalent to Resize with asymmetric coordinates that are "
                            "rounded down. ONNX defines it up to opset 9."));
  table.push_back(Row("LpPool", importLpPool)
                      .in("X")
                      .out("Y")
                      .windowed({18})
                      .attr("ceil_mode", Kind::Int, {18})
                      .accepts(zeroOrOne)
                      .attr("p", Kind::Int)
                      .requiring("kernel_shape"));
  table.push_back(Row("GlobalMaxPool", importGlobalMaxPool)
                      .in("X")
                      .out("Y")
                      .note("The first of several equal maxima receives the gradient."));
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
                      .note("The first of several equal maxima receives the gradient. `Indices` "
                            "have no gradient."));
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
  table.push_back(
      Row("Pad", importPad)
          .in("data", AnyElement)
          .in("pads", Integers, {11})
          .optional("constant_value", AnyElement, {11})
          .optional("axes", Integers, {18})
          .out("output")
          .attr("mode", Kind::String)
          .accepts(std::vector<std::string>{"constant", "reflect", "edge", "wrap"})
          .attr("pads", Kind::Ints, {kOldestOpset, 10})
          .required()
          .attr("value", Kind::Float, {kOldestOpset, 10})
          .note("`pads` must be constant. Negative pads remove elements before positive pads add "
                "elements. `constant_value` must be a constant or an initializer; such an "
                "initializer is not trained. `wrap` requires opset 19."));

  auto add = [&](const Row &row) { table.push_back(row); };
  add(Row("MatMul", importMatMul).in("A").in("B").out("Y"));
  add(Row("Einsum", importEinsum, {12})
          .variadic("Inputs", F32)
          .out("Output")
          .attr("equation", Kind::String)
          .required()
          .note("Any equation is supported, with or without ellipses."));
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
}
