//===- BPPSADeviceStreamOps.td - streams of a GPU ----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSADEVICESTREAMOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSADEVICESTREAMOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

/// Functions of the host run them in the order of the block.
class BPPSA_DeviceStreamOp<string mnemonic>
    : BPPSA_Op<mnemonic, [HasParent<"::mlir::func::FuncOp">]>;

def BPPSA_SelectStreamOp : BPPSA_DeviceStreamOp<"select_stream"> {
  let summary = "says which stream of the device takes the launches that follow";
  let description = [{
    0 is the main stream, which every function of the host begins and ends on, 1 the sub stream,
    whose work waits where the device cannot hold both. The launches of a stream run in their order, those of the two
    in any order but for events. Stands in the block of a function. See `bppsa-assign-streams`.

    ```mlir
    bppsa.record_event 3
    bppsa.select_stream 1
    bppsa.wait_event 3
    call @weights(%g, %x, %dw) : (memref<?x8xf32>, memref<?x4xf32>, memref<8x4xf32>) -> ()
    bppsa.select_stream 0
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<1>]>:$stream);
  let assemblyFormat = "$stream attr-dict";
}

def BPPSA_RecordEventOp : BPPSA_DeviceStreamOp<"record_event"> {
  let summary = "notes how far the selected stream is";
  let description = [{
    The event is reached once everything has run that the stream was given by now. Each of a function has a
    number of its own.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$event);
  let assemblyFormat = "$event attr-dict";
}

def BPPSA_WaitEventOp : BPPSA_DeviceStreamOp<"wait_event"> {
  let summary = "lets the selected stream wait for an event";
  let description = [{
    What the selected stream is given from now on runs after the event, which was recorded before, is reached. The host does not wait.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$event);
  let assemblyFormat = "$event attr-dict";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSADEVICESTREAMOPS
