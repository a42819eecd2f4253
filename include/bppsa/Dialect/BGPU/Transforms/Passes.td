//===- Passes.td - passes on block-level kernels -----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES
#define BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def StageCopies : Pass<"bgpu-stage-copies", "::mlir::func::FuncOp"> {
  let summary = "copies what loops fetch to shared memory some iterations ahead";
  let description = [{
    A vector that a `bgpu.fetch` reads in each iteration of an `scf.for` has a ring in shared memory,
    of as many slots as the operation has stages. Behind its first read of what is fetched or shared an
    iteration asks for the copies of the one that is stages - 1 ahead, by `nvgpu.device_async_copy` of
    all threads, and at its end it waits for those of the next one. Those of the first iterations are asked for, and those
    of the first waited for, before the loop, which is in a branch for loops that have an iteration.
    Remarks of the category `stages` name vectors and bytes.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %vector = bgpu.fetch %x[%i, %block] stages(8) : memref<?x?x20xf32>
      %next = bgpu.for_each [20] -> tensor<20xf32> { ... memref.load %vector ... }
    ```
    becomes
    ```mlir
    ... // asynchronous copies of the vectors of iterations 0 to 6
    bgpu.wait %first groups(6) : ...
    scf.for %i = %c0 to %n step %c1 {
      %slot = arith.andi %i, %c7 : index
      %vector = memref.subview %ring[%slot, 0] [1, 32] [1, 1] : ...
      %next = bgpu.for_each [20] -> tensor<20xf32> { ... memref.load %vector ... }
      ... // asynchronous copies of the vector of iteration %i + 7
      nvgpu.device_async_create_group
      ... // %following: the slot of iteration %i + 1
      bgpu.wait %following groups(6) : ...
    ```
  }];
  let dependentDialects = [
    "::bppsa::bgpu::BGPUDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numVectors", "vectors", "vectors that are copied ahead">,
    Statistic<"numBytes", "bytes", "bytes of shared memory of all rings together">,
  ];
}

def AllocateShared : Pass<"bgpu-allocate-shared", "::mlir::func::FuncOp"> {
  let summary = "gives tiles whose elements other threads need an array in shared memory";
  let description = [{
    A `bgpu.reduce` becomes a `bgpu.put` to an array in shared memory and, for each level of its
    tree, two `bgpu.get`, an elementwise operation and a `bgpu.put`; the first row that is left is
    the result. The array is a `memref.alloc` at the beginning of the kernel. Remarks of the
    category `shared` name its bytes.

    A `bgpu.share` is a `bgpu.put` to an array of its own. A tile that an `scf.for` carries is put where
    it is made, by the iteration before the one that shares it, to one of two arrays, by the lowest
    bit of the iteration's number. In loops, and in kernels with `repeat_last`, arrays have 32 spare rows.

    ```mlir
    %totals = bgpu.reduce <add> %parts : tensor<2x32xf32> -> tensor<1x32xf32>
    ```
    becomes
    ```mlir
    %buffer = memref.alloc() : memref<2x32xf32, #gpu.address_space<workgroup>>
    bgpu.put %parts, %buffer[0] : tensor<2x32xf32>, memref<2x32xf32, #gpu.address_space<workgroup>>
    %own = bgpu.get %buffer[0] : memref<2x32xf32, #gpu.address_space<workgroup>> -> tensor<1x32xf32>
    %other = bgpu.get %buffer[1] : memref<2x32xf32, #gpu.address_space<workgroup>> -> tensor<1x32xf32>
    %sum = arith.addf %own, %other : tensor<1x32xf32>
    bgpu.put %sum, %buffer[0] : tensor<1x32xf32>, memref<2x32xf32, #gpu.address_space<workgroup>>
    %totals = bgpu.get %buffer[0] : memref<2x32xf32, #gpu.address_space<workgroup>> -> tensor<1x32xf32>
    ```
  }];
  let dependentDialects = [
    "::bppsa::bgpu::BGPUDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect"
  ];
  let statistics = [
    Statistic<"numArrays", "arrays", "arrays in shared memory">,
    Statistic<"numBytes", "bytes", "bytes of shared memory of all kernels together">,
  ];
}

def InsertBarriers : Pass<"bgpu-insert-barriers", "::mlir::func::FuncOp"> {
  let summary = "puts barriers between accesses of memory by a block that depend on each other";
  let description = [{
    Element number i of a tile belongs to thread i. So two accesses of an array give each
    element to the same thread if they begin at the same row, and need no barrier; if they do
    not, have elements in common and one of them writes, a `gpu.barrier` stands between them. In
    bodies of `tensor.generate` and `bgpu.for_each` a thread has its own elements alone where the
    last indices of a load or store are those of its position; other elements may be those of any
    thread. Arrays in shared memory are apart from all others, arrays in device memory may be parts
    of the same one unless `memref.distinct_objects` says otherwise.

    Where the first index of all accesses of an array that depend on each other is the number of the warp, as
    in a `bgpu.for_each` of `[W, 32]`, a `bgpu.warp_barrier` stands there in place of that of the block. It
    separates accesses of a warp's elements alone: others need a `gpu.barrier`, or a `bgpu.grid_barrier`, which
    is one.

    A barrier stands before the second access, and before the reads of shared memory that directly
    precede that, which share it. What an iteration of an `scf.for` would wait for of the one before
    it waits for at the end of that, and what the first would wait for stands in front of the loop.
    Slots of an array by the lowest bits of the iteration's number plus a constant, or by that number, are apart
    from each other, those of an iteration and those of it and the next one. An asynchronous copy
    (`nvgpu.device_async_copy`) waits for what has been read of its slot before, and for a `bgpu.wait` for copies
    to it; what reads the slot waits for the `bgpu.wait` that completes the copy. Barriers that are there are used.
    Remarks of the category `barriers` name their number in a kernel.

    ```mlir
    bgpu.put %parts, %buffer[0] : ...
    %own = bgpu.get %buffer[0] : ...
    %other = bgpu.get %buffer[1] : ...
    ```
    becomes
    ```mlir
    bgpu.put %parts, %buffer[0] : ...
    gpu.barrier
    %own = bgpu.get %buffer[0] : ...
    %other = bgpu.get %buffer[1] : ...
    ```
  }];
  let dependentDialects = ["::bppsa::bgpu::BGPUDialect", "::mlir::gpu::GPUDialect"];
  let statistics = [
    Statistic<"numBarriers", "barriers", "barriers of the block that were inserted">,
    Statistic<"numWarpBarriers", "warp-barriers", "barriers of warps that were inserted">,
  ];
}

def VerifyBarriers : Pass<"bgpu-verify-barriers", "::mlir::func::FuncOp"> {
  let summary = "fails where a barrier is missing";
  let description = [{
    Fails where `bgpu-insert-barriers` would put a barrier: at an operation that accesses what another
    thread accesses before it, where one of them writes, and at a loop whose first iteration does so,
    or an iteration with the one before. For kernels whose barriers were written by hand, and
    for passes that move accesses behind `bgpu-insert-barriers`. Changes nothing.
  }];
  let statistics = [Statistic<"numKernels", "kernels", "kernels that were verified">];
}

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_PASSES
