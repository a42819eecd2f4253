//===- Passes.td - passes that assign streams of a GPU -----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES
#define BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignStreams : Pass<"bppsa-assign-streams", "::mlir::ModuleOp"> {
  let summary = "lets gradients of parameters run beside cotangents, on a sub stream of a GPU";
  let description = [{
    On memory, where each launch is the call of a kernel. Behind `bppsa.mark_phase 1` of public functions the calls that only form
    gradients of parameters (W, by the data flow that `bppsa-split-backward` goes by: what an array
    holds between two writes is a value) go to the sub stream (`bgpu.select_stream 1`), the others
    stay on the main stream.

    Ws that write or read what another one writes are a group and keep their order. A region is the
    launches of the main stream from where a group becomes possible to where the next one does. A
    group runs in the first region that it may run in, right where it becomes possible, or, with `joint`, in the
    region where the cost model hides most of it (Oh et al., Out-Of-Order BackProp, EuroSys 2022: multi-region joint
    scheduling): the longest group chooses first, and a region has the time of its launches, of what they issue and of their
    memory, of which the groups that are there already have taken their part. A group runs in no region behind a launch
    that changes what it reads. Sizes that only the run time knows count as `size`.

    The sub stream waits, at the start of a region, for an event that the main stream records there. The main
    stream waits for the sub stream where it uses an array that a W writes, or writes one that a W uses, and at the end of the
    function; arrays that Ws use are freed behind that. `bppsa-verify-streams` checks it.
    A function of which a launch uses arrays that are not known stays on one stream. Remarks of the category `schedule` say what was chosen.

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
           "what sizes that only the run time knows count as">
  ];
  let dependentDialects = ["::bppsa::bgpu::BGPUDialect", "::bppsa::BPPSADialect"];
}

def VerifyStreams : Pass<"bppsa-verify-streams", "::mlir::ModuleOp"> {
  let summary = "rejects functions whose streams do not wait for each other";
  let description = [{
    On memory, where each launch is the call of a kernel. Of two launches on different streams that use an array, which one of
    them writes, the later one has to wait for an event that is recorded behind the earlier one. Memory is taken and given back
    as by a launch that writes it. At its end a function has the main stream selected, which has waited for the sub stream.
    The pass fails otherwise.

    ```mlir
    bgpu.select_stream 1
    // error: uses memory on stream 1 without waiting for stream 0; ...
    call @weights(%g, %x, %dw) : (memref<?x8xf32>, memref<?x4xf32>, memref<8x4xf32>) -> ()
    bgpu.select_stream 0
    ```
  }];
}

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_STREAMS_PASSES
