//===- Passes.td - passes: conversions between dialects -- -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CONVERSION_PASSES
#define BPPSA_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertBPPSAToVector : Pass<"convert-bppsa-to-vector", "::mlir::ModuleOp"> {
  let summary = "lower packed, bufferized bppsa operations to loops over vectors";
  let description = [{
    One vector holds the same value of `lanes` samples. A cell or link becomes a
    few loops over the rows of its vectors: matrix-vector products accumulate a
    block of rows in registers, and the elementwise operations around them act
    on each row while it is in a register.

    ```mlir
    bppsa.recurrence lanes 16 sequences(%x : memref<?x?x1x16xf32>) ... into(%h : memref<?x?x20x16xf32>)
    ```
    becomes
    ```mlir
    scf.parallel (%block) = (%c0) to (%blocks) step (%c1) {
      scf.for %t = %c0 to %steps step %c1 {
        %sums:20 = scf.for %k = %c0 to %c20 step %c1 iter_args(...) {
          %row = vector.load %h[%block, %t, %k, %c0] : memref<?x?x20x16xf32>, vector<16xf32>
          ... vector.fma ...
        }
        ... math.tanh ... vector.store
      }
    }
    ```
    With one lane, a vector holds up to 16 hidden units of one sample instead: the
    rows above are tiles of units, products multiply one entry of their vector
    with a contiguous row of a transposed matrix, and a tail tile has the width
    that is left. A scan is refused then.

    `registers` is the number of vectors of that many lanes that the register
    file of the target holds: 32 for AVX-512, 8 for AVX2 and 4 for SSE.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "Vectors of all lanes that the target's registers hold">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ConvertBPPSAToBGPU : Pass<"convert-bppsa-to-bgpu", "::mlir::ModuleOp"> {
  let summary = "lowers bufferized recurrences, chains, sums, and products, to block-level kernels";
  let description = [{
    For the functions that `bppsa-outline-kernels` makes, on arrays in device memory. What kernels loops,
    transitions and outer sums become, and how threads share their work, is what
    `bppsa-choose-gpu-mapping` has chosen: nothing is decided here. A `bppsa.recurrence` that is mapped to
    `block_per_row` is one kernel for all steps, with a block for each sample: its loop carries states as
    tiles, shares those that products read as a whole, and fetches sequences ahead. Operations of the
    body are operations on tiles. A thread has its row of each matrix in registers, a tile of vectors;
    where `parts` threads share a row, each multiplies some of its columns, and `bgpu.reduce_across` adds
    them up. Without states a block has 32 steps of a sample. A `bppsa.chain` that is mapped so is such a
    kernel too, and a parallel loop of chains on windows of the same steps one whose blocks have the
    iterations. The sums of a chain are tiles of vectors, which its loop carries: `bgpu.accumulate` adds
    them to those of the block in memory after each 512 steps.

    Where one block has not the registers for the matrices of a loop, mapped to `cooperative`, several share
    their rows and run a group of samples together: tiles are those of 8 warps of 32 lanes, of which one has
    a row of a sample, and parts of rows of the matrices. `bgpu.reduce_scatter` adds up what lanes have
    multiplied, and a lane gets the sums of its row through shared memory. What products read as a whole is in
    device memory; between its writing and reading stands a `bgpu.grid_barrier`.

    A `bppsa.recurrence` that is mapped to `tiled_product` multiplies all its steps at a time: results that
    multiply the same sequences are one kernel, whose blocks have a tile of up to 64 x 64 elements. Its
    loop goes through chunks of 16 of the depth, which asynchronous copies bring to shared memory three chunks
    ahead, and carries sums as tiles of fragments, to which `bgpu.mma` adds products on tensor cores.

    A parallel loop of transitions, as `bppsa-expand-scan` writes the leaves of trees and the first sweep over
    chunks, is one kernel (two where cotangents are injected), whose blocks have columns of the transitions:
    those that one or a few threads run each, tiles of vectors, where states are small; column tiles, tiles of
    fragments for `bgpu.mma`; or one column each.

    `bppsa.step_sum` becomes a parallel loop
    over slabs of rows, each of which it sums, and a `bgpu.kernel` that adds the slabs up;
    `bppsa.reduce_sums` is such a kernel alone. `bppsa.outer_sum` that is mapped to
    `thread_per_element` is two kernels, of which the first has the products of each slab, a tile of
    16 x 16 elements a block; mapped to `tiled_product`, that is such a product of matrices, with the rows of a
    slab as its depth, and one for all sums that follow each other with the same right factor. Orders of
    additions depend on sizes alone.

    A loop of `bppsa.apply_transition`, `bppsa.compose_transitions` and copies of vectors, as
    `bppsa-expand-scan` writes the levels of trees, is a kernel with a block for each row and, for a
    parallel loop, iteration: its threads have the values of a vector. What an iteration allocates
    is in shared memory. A loop over carries, which applies transition i to cotangent i for cotangent
    i + 1, carries the cotangent as a tile and fetches transitions ahead where they are small.

    For example,
    ```mlir
    bppsa.reduce_sums %parts into %sum : memref<5xf32> : memref<?x?x5xf32>
    ```
    becomes
    ```mlir
    bgpu.kernel blocks(%block in %c1) threads(512) {
      %slices = tensor.generate {
      ^bb0(%slice: index, %element: index):
        ... // adds up parts slice, slice + 16, ...
      } : tensor<16x32xf32>
      %totals = bgpu.reduce <add> %slices : tensor<16x32xf32> -> tensor<1x32xf32>
      bgpu.for_each [1, 32] %totals : tensor<1x32xf32> {
      ^bb0(%row: index, %element: index, %total: f32):
        ... // stores %total, if %element is one of the sum
      }
    }
    ```
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
  let summary = "distributes block-level kernels to threads";
  let description = [{
    A `bgpu.kernel` becomes a `gpu.launch`, and a tile what one thread has of it, an element:
    element number i, in row-major order, is that of thread i. Operations on tiles with fewer
    elements than a block has threads are in a branch for those with an element, as many of them
    as follow each other with the same number. In kernels with `repeat_last` other threads compute the last
    row again, and in branches is only what reads and writes memory. Arrays in shared memory are workgroup attributions
    of the launch. Elements that several threads have are evaluated by all of them, but one writes to
    shared memory. A `bgpu.mma` is one or three `nvvm.mma.sync`, with the roundings that its precision asks
    for. Nothing is decided here: reductions have shared memory by
    `bgpu-allocate-shared`, and barriers are there by `bgpu-insert-barriers`.

    For example,
    ```mlir
    %other = bgpu.get %buffer[8] : memref<16x32xf32, #gpu.address_space<workgroup>> -> tensor<8x32xf32>
    ```
    becomes
    ```mlir
    %exists = arith.cmpi ult, %thread, %c256 : index
    scf.if %exists {
      %row = arith.divui %thread, %c32 : index
      %column = arith.remui %thread, %c32 : index
      %first = arith.addi %row, %c8 : index
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
  let summary = "lowers kernels to the LLVM and NVVM dialects without libdevice";
  let description = [{
    Like upstream's `convert-gpu-to-nvvm`, but mathematical operations become
    intrinsics of LLVM, which no toolkit has to be at hand for:

    ```mlir
    %0 = math.sqrt %x : f32
    ```
    becomes
    ```mlir
    %0 = llvm.intr.sqrt(%x) : (f32) -> f32
    ```
    What a GPU has no instruction for has to be expanded before (`bppsa-expand-math`).
    Barriers of blocks of one warp become `nvvm.bar.warp.sync`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def ConvertGPULaunchToCall : Pass<"convert-gpu-launch-to-call", "::mlir::ModuleOp"> {
  let summary = "turns launches of kernels into calls of launch functions";
  let description = [{
    `gpu.launch_func @device::@k blocks in (%g, 1, 1) threads in (%b, 1, 1) args(...)`
    becomes `call @bppsa_launch_k(%g, %b, ...)`. The bodies of these functions, which
    hand the arguments to the run time, are added to the LLVM module. Grids and blocks
    have one dimension.

    A kernel that loads from memory with acquire semantics waits for what other blocks
    write, so that all blocks must be on the device at a time: its launches become calls
    of `bppsa_launch_cooperative_k`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def ConvertStreamsToRuntime : Pass<"convert-streams-to-runtime", "::mlir::ModuleOp"> {
  let summary = "turns streams and events of a GPU into calls of the run time";
  let description = [{
    `bgpu.select_stream`, `bgpu.record_event` and `bgpu.wait_event` become calls of
    `bppsa_rt_select_stream`, `bppsa_rt_record_event` and `bppsa_rt_wait_event` with their
    numbers.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
}

def ConvertParallelToRuntime : Pass<"convert-parallel-to-runtime", "::mlir::ModuleOp"> {
  let summary = "lower parallel loops to the parallel-for of the run time";
  let description = [{
    The body of each outermost `scf.parallel` becomes a function of a range of
    iterations, counted over all dimensions, and the loop a call of
    `bppsa_rt_parallel_for`, which gives each thread a contiguous range. Values
    that the body uses go through a structure on the stack of the caller, arrays as
    casts that `bppsa-unpack-descriptors` resolves; constants are copied. Buffers of static size that an iteration allocates on the
    stack are allocated once for each range. A parallel loop in another one is
    run by the thread that reaches it.

    ```mlir
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %a = memref.alloca() : memref<16xf32>
      ...
    }
    ```
    becomes
    ```mlir
    call @bppsa_rt_parallel_for(%n, %body, %captures) : (i64, !llvm.ptr, !llvm.ptr) -> ()
    ...
    func.func private @f_body(%first: i64, %last: i64, %captures: !llvm.ptr) {
      %a = memref.alloca() : memref<16xf32>
      %address = llvm.getelementptr %captures[0, 0] ...
      scf.for %i = %first to %last step %c1 { ... }
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertSingleStepsToLinalg : Pass<"convert-single-steps-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "write recurrences of one step as operations on all samples";
  let description = [{
    An exporter that calls a recurrent layer step by step writes a node for each step, each a
    `bppsa.recurrence` of one step. Where at least `min-steps` of them have the same weights, their
    bodies are written on tensors in their places, reshapes between them fold, and dimensions of
    size 1 in front of the samples go: `bppsa-roll-up-steps` finds the steps of one loop then.

    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<1x8x4xf32>) initial(%s : tensor<8x4xf32>)
        captures(%w : tensor<4xf32>) -> (tensor<2x8x4xf32>) { ... }
    %1 = tensor.extract_slice %h[1, 0, 0] [1, 8, 4] [1, 1, 1]
        : tensor<2x8x4xf32> to tensor<1x8x4xf32>
    ```
    becomes
    ```mlir
    %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<1x8x4xf32> into tensor<8x4xf32>
    %h = linalg.generic ... ins(%c, %s, %w : tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>)
    %1 = tensor.expand_shape %h [[0, 1], [2]] output_shape [1, 8, 4]
        : tensor<8x4xf32> into tensor<1x8x4xf32>
    ```
  }];
  let options = [
    Option<"minSteps", "min-steps", "unsigned", /*default=*/"4",
           "fewest recurrences with the same weights that are written so">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_CONVERSION_PASSES
