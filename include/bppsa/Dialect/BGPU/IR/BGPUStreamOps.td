//===- BGPUStreamOps.td - streams of host functions --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPUSTREAMOPS
#define BPPSA_DIALECT_BGPU_IR_BGPUSTREAMOPS

include "bppsa/Dialect/BGPU/IR/BGPUDialect.td"

/// Base class of ops that host functions execute in the order of their block.
class BGPU_StreamOp<string mnemonic>
    : BGPU_Op<mnemonic, [HasParent<"::mlir::func::FuncOp">]>;

def BGPU_SelectStreamOp : BGPU_StreamOp<"select_stream"> {
  let summary = "Select the device stream of the launches that follow";
  let description = [{
    Stream 0 is the main stream. Every host function begins and ends on it. Stream 1 is the sub
    stream, which has lower priority. Launches of different streams are ordered only by events. The
    op must be in the entry block of a function. See `bppsa-assign-streams`.

    ```mlir
    bgpu.select_stream 1
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<1>]>:$stream);
  let assemblyFormat = "$stream attr-dict";
}

def BGPU_RecordEventOp : BGPU_StreamOp<"record_event"> {
  let summary = "Record an event on the selected stream";
  let description = [{
    The event completes when all work submitted to the selected stream so far has completed. Event
    numbers are unique within a function.

    ```mlir
    bgpu.record_event 3
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$event);
  let assemblyFormat = "$event attr-dict";
}

def BGPU_WaitEventOp : BGPU_StreamOp<"wait_event"> {
  let summary = "Make the selected stream wait for an event";
  let description = [{
    Work submitted to the selected stream after this op runs after the event, which must have been
    recorded earlier, has completed.

    ```mlir
    bgpu.wait_event 3
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$event);
  let assemblyFormat = "$event attr-dict";
}

#endif // BPPSA_DIALECT_BGPU_IR_BGPUSTREAMOPS
