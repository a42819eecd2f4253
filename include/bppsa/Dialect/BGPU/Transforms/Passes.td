//===- Passes.td - block-level kernel passes ---------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES
#define BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def StageCopies : Pass<"bgpu-stage-copies", "::mlir::func::FuncOp"> {
  let summary = "Prefetch vectors of loops to shared memory by asynchronous copies";
  let description = [{
    Implements each `bgpu.fetch` in an `scf.for` by a ring buffer in shared memory with as many
    slots as the op has stages. After its first read of a fetched or shared array, each iteration
    issues the copies of the iteration that is stages - 1 ahead, by `nvgpu.device_async_copy` on all
    threads. At its end it waits for the copies of the next iteration. Remarks of the category
    `stages` report the vectors and bytes. Example result:
    ```mlir
    ... // asynchronous copies of the vectors of iterations 0 to 6
    bgpu.wait %first groups(6) : ...
    scf.for %i = %c0 to %n step %c1 {
      %vector = memref.subview %ring[%slot, 0] [1, 32] [1, 1] : ...
      %next = bgpu.for_each [20] -> tensor<20xf32> { ... memref.load %vector ... }
      ... // asynchronous copies of the vector of iteration %i + 7
      nvgpu.device_async_create_group
      bgpu.wait %following groups(6) : ...
    ```
  }];
  let dependentDialects = [
    "::bppsa::bgpu::BGPUDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numVectors", "vectors", "vectors that are prefetched">,
    Statistic<"numBytes", "bytes", "total bytes of ring buffers in shared memory">,
  ];
}

def AllocateShared : Pass<"bgpu-allocate-shared", "::mlir::func::FuncOp"> {
  let summary = "Allocate shared memory for tiles that other threads read";
  let description = [{
    Lowers `bgpu.reduce` to accesses of an array in shared memory: a `bgpu.put`, and for each level
    of the tree two `bgpu.get`, an elementwise operation and a `bgpu.put`. The first row holds the
    result. Remarks of the category `shared` report the bytes of arrays.

    Lowers `bgpu.share` to a `bgpu.put` to a separate array. A tile carried by an `scf.for` is
    double-buffered: the iteration that computes it writes it for the next iteration. In loops, and
    in kernels with `repeat_last`, arrays have 32 spare rows.
  }];
  let dependentDialects = [
    "::bppsa::bgpu::BGPUDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect"
  ];
  let statistics = [
    Statistic<"numArrays", "arrays", "arrays in shared memory">,
    Statistic<"numBytes", "bytes", "total bytes of shared memory of all kernels">,
  ];
}

def InsertBarriers : Pass<"bgpu-insert-barriers", "::mlir::func::FuncOp"> {
  let summary = "Insert barriers between dependent memory accesses of a block";
  let description = [{
    Inserts a `gpu.barrier` between two accesses of a block if they may access the same element from
    different threads and one of them writes. Existing barriers are taken into account. Remarks of
    the category `barriers` report the number of barriers in each kernel.

    Accesses are analyzed as follows:

    * Element i of a tile belongs to thread i, so accesses of tiles that begin at the same row of an
      array need no barrier.
    * In bodies of `tensor.generate` and `bgpu.for_each` a load or store accesses elements of its
      own thread if its last indices are those of the position, and otherwise elements of any
      thread.
    * Arrays in shared memory do not alias other arrays. Arrays in device memory may alias unless
      `memref.distinct_objects` excludes it.
    * Slots of an array that are selected by the iteration number, or by its low bits plus a
      constant, are distinct within an iteration and between consecutive iterations.

    A barrier is placed before the second access. Dependences between iterations of an `scf.for` are
    resolved at the end of the iteration, and dependences of the first iteration before the loop. An
    asynchronous copy waits for earlier reads of its slot, and for the `bgpu.wait` of earlier copies
    to it. Reads of a slot wait for the `bgpu.wait` that completes the copy.

    A `bgpu.warp_barrier` replaces the barrier of the block if the first index of all dependent
    accesses of an array is the warp number, as in a `bgpu.for_each` of `[W, 32]`. A
    `bgpu.grid_barrier` implies a barrier of the block. Example result:
    ```mlir
    bgpu.put %parts, %buffer[0] : ...
    gpu.barrier
    %other = bgpu.get %buffer[1] : ...
    ```
  }];
  let dependentDialects = ["::bppsa::bgpu::BGPUDialect", "::mlir::gpu::GPUDialect"];
  let statistics = [
    Statistic<"numBarriers", "barriers", "block barriers that were inserted">,
    Statistic<"numWarpBarriers", "warp-barriers", "warp barriers that were inserted">,
  ];
}

def VerifyBarriers : Pass<"bgpu-verify-barriers", "::mlir::func::FuncOp"> {
  let summary = "Reject kernels with missing barriers";
  let description = [{
    Fails if `bgpu-insert-barriers` would insert a barrier.
  }];
  let statistics = [Statistic<"numKernels", "kernels", "kernels that were verified">];
}

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES
