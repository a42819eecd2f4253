//===- BGPUStreamOps.td - streams of the host --------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPUSTREAMOPS
#define BPPSA_DIALECT_BGPU_IR_BGPUSTREAMOPS

include "bppsa/Dialect/BGPU/IR/BGPUDialect.td"

/// Functions of the host run them in the order of the block.
class BGPU_StreamOp<string mnemonic>
    : BGPU_Op<mnemonic, [HasParent<"::mlir::func::FuncOp">]>;

def BGPU_SelectStreamOp : BGPU_StreamOp<"select_stream"> {
  let summary = "says which stream of the device takes the launches that follow";
  let description = [{
    0 is the main stream, which every function of the host begins and ends on, 1 the sub stream,
    whose work waits where the device cannot hold both. The launches of a stream run in their order, those of the two
    in any order but for events. Stands in the block of a function. See `bppsa-assign-streams`.

    ```mlir
    bgpu.record_event 3
    bgpu.select_stream 1
    bgpu.wait_event 3
    call @weights(%g, %x, %dw) : (memref<?x8xf32>, memref<?x4xf32>, memref<8x4xf32>) -> ()
    bgpu.select_stream 0
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<1>]>:$stream);
  let assemblyFormat = "$stream attr-dict";
}

def BGPU_RecordEventOp : BGPU_StreamOp<"record_event"> {
  let summary = "notes how far the selected stream is";
  let description = [{
    The event is reached once everything has run that the stream was given by now. Each of a function has a
    number of its own.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$event);
  let assemblyFormat = "$event attr-dict";
}

def BGPU_WaitEventOp : BGPU_StreamOp<"wait_event"> {
  let summary = "lets the selected stream wait for an event";
  let description = [{
    What the selected stream is given from now on runs after the event, which was recorded before, is reached. The host does not wait.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$event);
  let assemblyFormat = "$event attr-dict";
}

#endif // BPPSA_DIALECT_BGPU_IR_BGPUSTREAMOPS
