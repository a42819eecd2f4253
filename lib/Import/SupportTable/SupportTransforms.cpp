//===- SupportTransforms.cpp - rows of attention and spectra --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportRows.h"

using namespace mlir;
using namespace bppsa;

void bppsa::addTransformRows(std::vector<OpRule> &table) {
  using Kind = AttributeKind;
  table.push_back(
      Row("Attention", importAttention, {23})
          .in("Q")
          .in("K")
          .in("V")
          .optional("attn_mask", F32 | Bool)
          .optional("past_key")
          .optional("past_value")
          .optional("nonpad_kv_seqlen", Integers, {24})
          .out("Y")
          .optionalOut("present_key")
          .optionalOut("present_value")
          .optionalOut("qk_matmul_output")
          .attr("is_causal", Kind::Int)
          .accepts(zeroOrOne)
          .attr("kv_num_heads", Kind::Int)
          .attr("left_window_size", Kind::Int, {25})
          .attr("q_num_heads", Kind::Int)
          .attr("qk_matmul_output_mode", Kind::Int)
          .accepts(std::vector<int64_t>{0, 1, 2, 3})
          .attr("right_window_size", Kind::Int, {25})
          .attr("scale", Kind::Float)
          .attr("softcap", Kind::Float)
          .attr("softmax_precision", Kind::Int)
          .accepts(std::vector<int64_t>{1})
          .note("Sizes of heads, and how many there are, must be fixed. A float `attn_mask` that "
                "is an initializer is trained unless an element is below -10^4: then it hides keys "
                "and stays. A query that sees no key gets zeros. A length outside of 0 to the "
                "number of keys means the nearest of these."));
  table.push_back(
      Row("DFT", importDFT, {17})
          .in("input")
          .optional("dft_length", Integers)
          .optional("axis", Integers, {20})
          .out("output")
          .attr("axis", Kind::Int, {17, 19})
          .attr("inverse", Kind::Int)
          .accepts(zeroOrOne)
          .attr("onesided", Kind::Int)
          .accepts(zeroOrOne)
          .note(
              "A product with constant sines and cosines. The axis has a fixed size; `dft_length` "
              "and `axis` must be constant."));
  table.push_back(
      Row("STFT", importSTFT, {17})
          .in("signal")
          .in("frame_step", Integers)
          .optional("window")
          .optional("frame_length", Integers)
          .out("output")
          .attr("onesided", Kind::Int)
          .accepts(zeroOrOne)
          .note(
              "A product with constant sines and cosines. `frame_step` and `frame_length` must be "
              "constant, the signal may have any length; a window that is an initializer is not "
              "trained."));
}
