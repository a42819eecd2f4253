//===- Passes.td - GPU mapping passes ----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES
#define BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES

include "mlir/Pass/PassBase.td"

def FuseGradients : Pass<"bppsa-fuse-gradients", "::mlir::func::FuncOp"> {
  let summary = "Fuse sums of emitted values into chains";
  let description = [{
    Fuses sums over steps and samples of emitted sequences into their chain, on tensors of GPU
    programs. A `bppsa.outer_sum` with the emitted sequence as first operand, or a `bppsa.step_sum`,
    becomes one of the chain's `sums`, which its threads accumulate in registers. Emitted sequences
    without other uses are no longer stored.

    The pass applies to chains with a linear or chunked plan, to all sums of a chain or to none.
    Each thread must have enough registers for its rows of the sums in addition to its rows of the
    matrices. The sums must not require more threads per block than the link does, unless two warps
    suffice. Example result:
    ```mlir
    %g, %w, %b = bppsa.chain saved(%h : tensor<?x?x4xf32>) seeds(%s : tensor<?x4xf32>)
        factors(%x : tensor<?x?x3xf32>) sum_with [0, -1]
        -> (tensor<?x4xf32>) sums(tensor<4x3xf32>, tensor<4xf32>) { ... }
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def HoistInputProducts : Pass<"bppsa-hoist-input-products", "::mlir::func::FuncOp"> {
  let summary = "Hoist input projections out of recurrences";
  let description = [{
    Moves input projections to a loop without states before the recurrence, on memory of GPU
    programs. The pass applies if the rows of their matrices are the reason why the matrices of the
    recurrence do not fit the registers of a block, or why more threads must share a row. Example
    result:
    ```mlir
    bppsa.recurrence sequences(%x : memref<?x?x64xf32>) captures(%w : memref<64x64xf32>)
        into(%p : memref<?x?x64xf32>) ...
    bppsa.recurrence sequences(%p : memref<?x?x64xf32>) initial(%h0 : memref<?x64xf32>)
        captures(%r : memref<64x64xf32>) into(%h : memref<?x?x64xf32>) ...
    ```
  }];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def ChooseGPUMapping : Pass<"bppsa-choose-gpu-mapping", "::mlir::func::FuncOp"> {
  let summary = "Map loops, transitions and sums to GPU kernels";
  let description = [{
    Sets the attribute `bppsa.mapping` of each time loop, transition and outer sum on memory to a
    `#bppsa.gpu_mapping`: the kernel, the number of threads that share a row, the memory of
    matrices, and the number of steps that are prefetched. Existing mappings are kept.

    The decision depends only on sizes and memory layouts. A remark of the category `mapping`
    reports the choice and the reason why the next preferred mapping was ruled out. Example result:
    ```mlir
    bppsa.recurrence sequences(%x : memref<?x?x12xf32>) initial(%h0 : memref<?x64xf32>) ...
        attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 128, parts = 2, stages = 8>}
    ```
  }];
  let options = [
    Option<"precision", "precision", "::bppsa::TensorPrecision", "::bppsa::TensorPrecision::FP32",
           "precision of tensor-core products", [{::llvm::cl::values(
      clEnumValN(::bppsa::TensorPrecision::FP32, "fp32", "float32 accuracy by three products"),
      clEnumValN(::bppsa::TensorPrecision::TF32, "tf32", "factors of 11 significant bits"),
      clEnumValN(::bppsa::TensorPrecision::BF16, "bf16", "factors of 8 significant bits"))}]>
  ];
  let statistics = [Statistic<"numMapped", "mapped", "operations that were mapped">];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES
