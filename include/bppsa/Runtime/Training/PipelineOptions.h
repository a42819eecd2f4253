//===- PipelineOptions.h - How microbatches go through a pipeline ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_PIPELINEOPTIONS_H
#define BPPSA_RUNTIME_TRAINING_PIPELINEOPTIONS_H

namespace bppsa::runtime {

/// How microbatches go through the stages of a pipeline. The results are the same, bit by bit.
struct PipelineOptions {
  enum class Kind { GPipe, OneForwardOneBackward, ZeroBubbleH1, ZeroBubbleH2 };
  Kind kind = Kind::OneForwardOneBackward;
  /// Whether gradients of parameters wait, apart from cotangents.
  bool isSplit() const { return kind == Kind::ZeroBubbleH1 || kind == Kind::ZeroBubbleH2; }
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_PIPELINEOPTIONS_H
