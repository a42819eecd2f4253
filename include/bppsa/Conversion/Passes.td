//===- Passes.td - conversion passes -----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CONVERSION_PASSES
#define BPPSA_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertBPPSAToVector : Pass<"convert-bppsa-to-vector", "::mlir::ModuleOp"> {
  let summary = "Lower packed, bufferized bppsa operations to loops over vectors";
  let description = [{
    Lowers packed operations on memory to parallel loops over blocks of samples and sequential loops
    over time steps. A vector holds the same hidden unit of `lanes` samples. A cell or link becomes
    a few loops over the rows of its vectors: matrix-vector products accumulate a block of rows in
    registers, and adjacent elementwise operations are applied to each row while it is in a
    register. Example result:
    ```mlir
    scf.parallel (%block) = (%c0) to (%blocks) step (%c1) {
      scf.for %t = %c0 to %steps step %c1 {
        %sums:20 = scf.for %k = %c0 to %c20 step %c1 iter_args(...) { ... vector.fma ... }
        ... math.tanh ... vector.store
    ```
    With one lane, a vector instead holds up to 16 hidden units of one sample, and products multiply
    one entry of their vector by a contiguous row of a transposed matrix. Scans are rejected in this
    form.

    `registers` is 32 for AVX-512, 8 for AVX2 and 4 for SSE.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "number of vectors of all lanes that fit the target's registers">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ConvertBPPSAToBGPU : Pass<"convert-bppsa-to-bgpu", "::mlir::ModuleOp"> {
  let summary = "Lower bufferized recurrences, chains, sums and products to block-level kernels";
  let description = [{
    Lowers operations on device memory in the functions created by `bppsa-outline-kernels`. The
    mapping chosen by `bppsa-choose-gpu-mapping` determines the kernel and the distribution of work.
    The order of additions depends only on sizes.

    * `block_per_row`: a recurrence or chain becomes one kernel for all steps, with one block per
      sample. Its loop carries states as tiles, shares the vectors that products read in full, and
      prefetches sequences. Each thread holds its row of each matrix in registers. If `parts`
      threads share a row, `bgpu.reduce_across` adds the parts. Without states a block computes 32
      steps of a sample. A parallel loop of chains over windows of the same steps becomes one kernel
      with a block per iteration. Sums of a chain are carried in registers; `bgpu.accumulate` adds
      them to memory every 512 steps.
    * `cooperative`: several blocks share the rows of the matrices and process a group of samples
      together, if one block does not have enough registers. A warp holds a row of a sample and
      parts of rows of the matrices. `bgpu.reduce_scatter` adds the partial products of its lanes.
      Vectors that products read in full are in device memory, with a `bgpu.grid_barrier` between
      write and read.
    * `tiled_product`: a recurrence without states becomes a matrix product over all steps, and so
      does an outer sum. Blocks compute tiles of up to 64 x 64 elements with `bgpu.mma`, in chunks
      of 16 of the inner dimension, which asynchronous copies load three chunks ahead. Products of
      the same sequences, and consecutive outer sums with the same right factor, share a kernel.
    * `thread_per_element`: an outer sum becomes two kernels, the first of which computes the
      products of each slab of rows with a tile of 16 x 16 elements per block.
    * Mappings of transitions: a parallel loop of transitions becomes one kernel, or two if
      cotangents are injected.

    `bppsa.step_sum` becomes a parallel loop that sums slabs of rows, and a `bgpu.kernel` that adds
    the slabs. `bppsa.reduce_sums` becomes only the latter.

    A loop of `bppsa.apply_transition`, `bppsa.compose_transitions` and copies of vectors, as in the
    levels of trees, becomes a kernel with one block per row and, for a parallel loop, per
    iteration. Memory that an iteration allocates is shared memory. A loop over carries keeps the
    cotangent in a tile and prefetches small transitions.
  }];
  let dependentDialects = [
    "::bppsa::bgpu::BGPUDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::nvgpu::NVGPUDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
  let statistics = [Statistic<"numConverted", "converted", "sums and loops that became kernels">];
}

def ConvertBGPUToGPU : Pass<"convert-bgpu-to-gpu", "::mlir::func::FuncOp"> {
  let summary = "Distribute block-level kernels to threads";
  let description = [{
    Lowers each `bgpu.kernel` to a `gpu.launch` and each tile to the element that a thread owns:
    element i, in row-major order, belongs to thread i. Consecutive operations on tiles with the
    same number of elements, if fewer than the threads of a block, are enclosed in a branch for the
    threads with an element. In kernels with `repeat_last` the other threads recompute the last row,
    and only memory accesses are in branches. All threads that hold a replicated element compute it,
    and one writes it to shared memory. A `bgpu.mma` becomes one or three `nvvm.mma.sync`, with the
    rounding that its precision requires.

    `bgpu-allocate-shared` has allocated shared memory for reductions, and `bgpu-insert-barriers`
    has inserted barriers.

    ```mlir
    %other = bgpu.get %buffer[8] : memref<16x32xf32, #gpu.address_space<workgroup>> -> tensor<8x32xf32>
    ```
    becomes
    ```mlir
    %exists = arith.cmpi ult, %thread, %c256 : index
    scf.if %exists {
      ...
      %other = memref.load %buffer[%first, %column] : memref<16x32xf32, #gpu.address_space<workgroup>>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::ub::UBDialect"
  ];
  let statistics = [Statistic<"numKernels", "kernels", "kernels that were distributed">];
}

def ConvertDeviceToNVVM : Pass<"convert-device-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower kernels to the LLVM and NVVM dialects without libdevice";
  let description = [{
    Lowers kernels like upstream's `convert-gpu-to-nvvm`, but converts math operations to LLVM
    intrinsics instead of calls of libdevice, so no CUDA toolkit is required: `math.sqrt` becomes
    `llvm.intr.sqrt`.
    Functions without a GPU instruction must be expanded before (`bppsa-expand-math`). Barriers of
    blocks with one warp become `nvvm.bar.warp.sync`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def ConvertGPULaunchToCall : Pass<"convert-gpu-launch-to-call", "::mlir::ModuleOp"> {
  let summary = "Convert kernel launches to calls of launch functions";
  let description = [{
    Converts `gpu.launch_func @device::@k blocks in (%g, 1, 1) threads in (%b, 1, 1)
    args(...)` to `call @bppsa_launch_k(%g, %b, ...)`. Grids and blocks must be one-dimensional.

    A kernel that loads from memory with acquire semantics waits for other blocks, so its launches
    become calls of `bppsa_launch_cooperative_k`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def ConvertStreamsToRuntime : Pass<"convert-streams-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Convert GPU streams and events to run-time calls";
  let description = [{
    Converts `bgpu.select_stream`, `bgpu.record_event` and `bgpu.wait_event` to calls of
    `bppsa_rt_select_stream`, `bppsa_rt_record_event` and `bppsa_rt_wait_event`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def ConvertParallelToRuntime : Pass<"convert-parallel-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Convert parallel loops to the run time's parallel-for";
  let description = [{
    Outlines the body of each outermost `scf.parallel` into a function of a range of iterations,
    linearized over all dimensions. The loop becomes a call of `bppsa_rt_parallel_for`, which gives
    each thread a contiguous range. Captured values are passed in a structure on the stack of the
    caller, memrefs as casts that `bppsa-unpack-descriptors` resolves. Stack buffers of static size
    are allocated once per range. Nested parallel loops run sequentially on the thread that reaches
    them. Example result:
    ```mlir
    call @bppsa_rt_parallel_for(%n, %body, %captures) : (i64, !llvm.ptr, !llvm.ptr) -> ()
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertSingleStepsToLinalg : Pass<"convert-single-steps-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "Convert single-step recurrences to operations on all samples";
  let description = [{
    Replaces recurrences of one step by the operations of their bodies, on tensors of all samples,
    if at least `min-steps` of them have the same weights. Reshapes in between are folded, and unit
    dimensions before the sample dimension are dropped. `bppsa-roll-up-steps` can then roll up the
    steps into one loop. Example result:
    ```mlir
    %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x8x4xf32> into tensor<8x4xf32>
    %h = linalg.generic ... ins(%c, %s, %w : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>)
    ```
  }];
  let options = [
    Option<"minSteps", "min-steps", "unsigned", /*default=*/"4",
           "minimum number of recurrences with the same weights that are converted">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_CONVERSION_PASSES
