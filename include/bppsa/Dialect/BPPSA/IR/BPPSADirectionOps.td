//===- BPPSADirectionOps.td - directions of time -----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSADIRECTIONOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSADIRECTIONOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_ReverseIfOp : BPPSA_Op<"reverse_if", [
    SingleBlock, NoTerminator, NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "Reverse the time loop in the body under a run-time condition";
  let description = [{
    Runs the `recurrence`, `chain` or `transition` in the body. If `condition` is true, the loop
    visits the time steps in the opposite direction, so one kernel serves both directions of a
    layer. See `bppsa-merge-directions`.

    ```mlir
    bppsa.reverse_if %reverse {
      bppsa.recurrence lanes 16 ...
    }
    ```
  }];
  let arguments = (ins I1:$condition);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$condition attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSADIRECTIONOPS
