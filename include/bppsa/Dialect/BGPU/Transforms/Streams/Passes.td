//===- Passes.td - GPU stream passes -----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES
#define BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignStreams : Pass<"bppsa-assign-streams", "::mlir::ModuleOp"> {
  let summary = "Launch parameter gradients on a separate GPU stream";
  let description = [{
    Assigns launches to two streams so that parameter gradients run in parallel with the cotangent
    path, in functions on memory in which each launch is a call of a kernel. After
    `bppsa.mark_phase 1` of public functions, calls that only compute parameter gradients (W) move
    to the sub stream (`bgpu.select_stream 1`). W is determined by the same data flow as in
    `bppsa-split-backward`; the contents of an array between two writes count as one value.

    W calls that access an array that another one writes form a group and keep their order. By
    default a group starts as early as possible. With `joint` the cost model selects the region of
    launches of the main stream that hides most of the group's time (Oh et al., Out-Of-Order
    BackProp, EuroSys 2022: multi-region joint scheduling). A group is never moved past a launch
    that overwrites one of its inputs.

    At the start of a region the sub stream waits for an event of the main stream. The main stream
    waits for the sub stream before it uses an array that a W writes, before it writes an array that
    a W uses, and at the end of the function. Arrays that a W uses are freed after that wait. A
    function with a launch whose arrays are unknown stays on one stream. Remarks of the category
    `schedule` report each decision. Example result:
    ```mlir
    bgpu.record_event 0
    bgpu.select_stream 1
    bgpu.wait_event 0
    call @weights(%g1, %x, %dw1) : ...
    bgpu.record_event 1
    bgpu.select_stream 0
    call @cotangent(%g3, %w3, %g4) : ...
    bgpu.wait_event 1
    ```
  }];
  let options = [
    Option<"joint", "joint", "bool", /*default=*/"false",
           "choose the region of each group by the cost model">,
    Option<"size", "size", "int64_t", /*default=*/"64",
           "assumed value of dynamic sizes">
  ];
  let dependentDialects = ["::bppsa::bgpu::BGPUDialect", "::bppsa::BPPSADialect"];
}

def VerifyStreams : Pass<"bppsa-verify-streams", "::mlir::ModuleOp"> {
  let summary = "Reject missing synchronization between GPU streams";
  let description = [{
    Verifies functions on memory in which each launch is a call of a kernel. If two launches on
    different streams access an array and one of them writes it, the later launch must wait for an
    event recorded after the earlier one. At the end of a function the main stream must be selected
    and must have waited for the sub stream. The pass fails otherwise.

    ```mlir
    bgpu.select_stream 1
    // error: uses memory on stream 1 without waiting for stream 0; ...
    call @weights(%g, %x, %dw) : (memref<?x8xf32>, memref<?x4xf32>, memref<8x4xf32>) -> ()
    bgpu.select_stream 0
    ```
  }];
}

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES
