//===- DistDialect.td - dist dialect definition ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_IR_DISTDIALECT
#define BPPSA_DIALECT_DIST_IR_DISTDIALECT

include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::bppsa::dist";
  let summary = "Communication between the ranks of a training step";
  let description = [{
    A training step may run on several processes, called ranks. Ranks share the samples of a batch
    (data parallelism), the stages of a pipeline, or the time steps of all sequences. On a single
    process each op is the identity, a constant, or a no-op.

    Ops exist on tensors and, after bufferization, on memrefs with a destination. The run time
    implements them; `convert-bppsa-to-vector` emits the calls.
  }];
}

class Dist_Op<string mnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, traits>;

#endif // BPPSA_DIALECT_DIST_IR_DISTDIALECT
