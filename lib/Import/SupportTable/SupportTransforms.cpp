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
          .note("The head sizes and the number of heads must be fixed. A float `attn_mask` "
                "initializer is trained unless one of its elements is below -10^4. A mask with "
                "such an element hides keys and is not trained. The output of a query without "
                "visible keys is zero. `nonpad_kv_seqlen` is clamped to the range from 0 to the "
                "number of keys."));
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
          .note("The op is computed as a product with constant sines and cosines. The transformed "
                "axis must have a fixed size. `dft_length` and `axis` must be constant."));
  table.push_back(Row("STFT", importSTFT, {17})
                      .in("signal")
                      .in("frame_step", Integers)
                      .optional("window")
                      .optional("frame_length", Integers)
                      .out("output")
                      .attr("onesided", Kind::Int)
                      .accepts(zeroOrOne)
                      .note("The op is computed as a product with constant sines and cosines. "
                            "`frame_step` and `frame_length` must be constant. The signal may have "
                            "any length. A `window` initializer is not trained."));
}
