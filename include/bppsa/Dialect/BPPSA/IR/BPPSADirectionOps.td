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

    Example:

    ```mlir
    bppsa.reverse_if %reverse {
      bppsa.recurrence lanes 16 sequences(%x : memref<?x?x4x16xf32>)
          initial(%h0 : memref<?x4x16xf32>) into(%h : memref<?x?x4x16xf32>) {
      ^bb0(%xt: vector<4xf32>, %ht: vector<4xf32>):
        %0 = arith.addf %xt, %ht : vector<4xf32>
        bppsa.yield %0 : vector<4xf32>
      }
    }
    ```
  }];
  let arguments = (ins I1:$condition);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$condition attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSADIRECTIONOPS
