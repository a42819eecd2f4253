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
    path. Functions are on memory, and each launch is a call of a kernel. After `bppsa.mark_phase 1`
    of public functions, calls that only compute parameter gradients (W) move to the sub stream
    (`bgpu.select_stream 1`). All other calls stay on the main stream. W is determined by the same
    data flow as in `bppsa-split-backward`; the contents of an array between two writes count as one
    value.

    W calls that access an array that another one writes form a group and keep their order. A region
    consists of the launches of the main stream from the point where a group becomes possible to the
    point where the next group does. By default a group runs in the first possible region. With
    `joint` the cost model selects the region that hides most of the group's time (Oh et al.,
    Out-Of-Order BackProp, EuroSys 2022: multi-region joint scheduling). The longest group chooses
    first, and groups that are already assigned occupy part of a region's launch, issue and memory
    time. A group is never moved past a launch that overwrites one of its inputs. Dynamic sizes are
    assumed to be `size`.

    At the start of a region the sub stream waits for an event that the main stream records there.
    The main stream waits for the sub stream before it uses an array that a W writes, before it
    writes an array that a W uses, and at the end of the function. Arrays that a W uses are freed
    after that wait. `bppsa-verify-streams` checks the result. A function with a launch whose arrays
    are unknown stays on one stream. Remarks of the category `schedule` report each decision.

    ```mlir
    call @cotangent(%g2, %w2, %g1) : ...
    call @weights(%g1, %x, %dw1) : ...
    memref.dealloc %g1 : memref<?x8xf32>
    call @cotangent(%g3, %w3, %g4) : ...
    return
    ```
    becomes
    ```mlir
    call @cotangent(%g2, %w2, %g1) : ...
    bgpu.record_event 0
    bgpu.select_stream 1
    bgpu.wait_event 0
    call @weights(%g1, %x, %dw1) : ...
    bgpu.record_event 1
    bgpu.select_stream 0
    call @cotangent(%g3, %w3, %g4) : ...
    bgpu.wait_event 1
    memref.dealloc %g1 : memref<?x8xf32>
    return
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
    event recorded after the earlier one. Allocation and deallocation count as launches that write
    the array. At the end of a function the main stream must be selected and must have waited for
    the sub stream. The pass fails otherwise.

    ```mlir
    bgpu.select_stream 1
    // error: uses memory on stream 1 without waiting for stream 0; ...
    call @weights(%g, %x, %dw) : (memref<?x8xf32>, memref<?x4xf32>, memref<8x4xf32>) -> ()
    bgpu.select_stream 0
    ```
  }];
}

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES
