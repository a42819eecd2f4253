//===- BPPSAExchangeOps.td - steps of several ranks --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGEOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGEOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_AwaitParameterOp : BPPSA_Op<"await_parameter"> {
  let summary = "waits until a parameter has its value of this step";
  let description = [{
    A step of a program for several ranks begins before the update of the last one has been made.
    The run time makes that of `parameter`, an argument with `bppsa.parameter`, here: in front of
    whatever uses it or its gradient. See `bppsa-signal-gradients`.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWrite]>:$parameter);
  let assemblyFormat = "$parameter attr-dict `:` type($parameter)";
  let hasVerifier = 1;
}

def BPPSA_SignalGradientOp : BPPSA_Op<"signal_gradient"> {
  let summary = "tells the run time that the gradient of a parameter is final";
  let description = [{
    The run time of a program for several ranks sends `gradient`, an argument with
    `bppsa.gradient`, to other ranks from here on, and writes their sum into it: nothing behind this
    op uses it. See `bppsa-signal-gradients`.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead, MemWrite]>:$gradient);
  let assemblyFormat = "$gradient attr-dict `:` type($gradient)";
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGEOPS
