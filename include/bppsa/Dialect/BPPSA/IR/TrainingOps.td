//===- TrainingOps.td - ops of training behaviour ----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_TRAININGOPS
#define BPPSA_DIALECT_BPPSA_IR_TRAININGOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_RunningStatisticOp : BPPSA_Op<"running_statistic", [
    Pure, AllTypesMatch<["batch", "running", "statistic", "next"]>]> {
  let summary = "the statistic of the batch while training, the running one elsewhere";
  let description = [{
    While a model is trained `statistic` is `batch`, and `next` is `running *
    momentum + batch * (1 - momentum)`, which becomes the running statistic
    after the step; everywhere else both are `running`. See
    `bppsa-specialize-training`.
  }];
  let arguments = (ins AnyRankedTensor:$batch, AnyRankedTensor:$running, F64Attr:$momentum);
  let results = (outs AnyRankedTensor:$statistic, AnyRankedTensor:$next);
  let assemblyFormat = "$batch `of` $running `momentum` $momentum attr-dict `:` type($running)";
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_TRAININGOPS
