//===- Passes.td - passes: what GPUs run -------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES
#define BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES

include "mlir/Pass/PassBase.td"

def FuseGradients : Pass<"bppsa-fuse-gradients", "::mlir::func::FuncOp"> {
  let summary = "adds up gradients of parameters inside of chains";
  let description = [{
    For programs for GPUs, on tensors. Sums over steps and samples of what a chain
    emits (`bppsa.outer_sum` with the emitted sequence first, `bppsa.step_sum`)
    become `sums` of the chain: the threads that run it keep them in registers.
    A sequence that nothing else reads is not stored any more.

    This is done for `bppsa.chain` and for scans that are linear or chunked, all sums
    of a loop or none: where a thread has registers for its rows of the sums beside
    its rows of the matrices, and the block need not have more threads for them
    than two warps or what the link alone takes. Definitions of the other operands of
    the sums are moved in front of the chain.

    ```mlir
    %g, %e = bppsa.chain saved(%h : tensor<?x?x4xf32>) seeds(%s : tensor<?x4xf32>)
        -> (tensor<?x4xf32>) emitted(tensor<?x?x4xf32>) {
    ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>):
      %0 = arith.mulf %ht, %gt : vector<4xf32>
      bppsa.yield %0, %0 : vector<4xf32>, vector<4xf32>
    }
    %w = bppsa.outer_sum %e, %x : tensor<?x?x4xf32>, tensor<?x?x3xf32> -> tensor<4x3xf32>
    %b = bppsa.step_sum %e : tensor<?x?x4xf32> -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %g, %w, %b = bppsa.chain saved(%h : tensor<?x?x4xf32>) seeds(%s : tensor<?x4xf32>)
        factors(%x : tensor<?x?x3xf32>) sum_with [0, -1]
        -> (tensor<?x4xf32>) sums(tensor<4x3xf32>, tensor<4xf32>) {
    ^bb0(%ht: vector<4xf32>, %gt: vector<4xf32>):
      %0 = arith.mulf %ht, %gt : vector<4xf32>
      bppsa.yield %0, %0, %0 : vector<4xf32>, vector<4xf32>, vector<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def HoistInputProducts : Pass<"bppsa-hoist-input-products", "::mlir::func::FuncOp"> {
  let summary = "multiplies the inputs of recurrences for all steps at a time";
  let description = [{
    For programs for GPUs, on memory. What a recurrence multiplies of the sequences that it
    reads waits for none of its steps. Where the rows of their matrices are why the rows of
    all do not fit the registers of a block, or why more threads share one, a
    loop without states computes these products for all steps, with the captured vectors
    that they add, and the recurrence reads the results.

    ```mlir
    bppsa.recurrence sequences(%x : memref<?x?x64xf32>) initial(%h0 : memref<?x64xf32>)
        captures(%w, %r : memref<64x64xf32>, memref<64x64xf32>) into(%h : memref<?x?x64xf32>) ...
    ```
    becomes
    ```mlir
    %p = memref.alloc(%steps, %samples) : memref<?x?x64xf32>
    bppsa.recurrence sequences(%x : memref<?x?x64xf32>) captures(%w : memref<64x64xf32>)
        into(%p : memref<?x?x64xf32>) ...
    bppsa.recurrence sequences(%p : memref<?x?x64xf32>) initial(%h0 : memref<?x64xf32>)
        captures(%r : memref<64x64xf32>) into(%h : memref<?x?x64xf32>) ...
    memref.dealloc %p : memref<?x?x64xf32>
    ```
  }];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def ChooseGPUMapping : Pass<"bppsa-choose-gpu-mapping", "::mlir::func::FuncOp"> {
  let summary = "maps loops, transitions and sums to kernels of a GPU";
  let description = [{
    Gives each time loop, transition and outer sum on memory the attribute `bppsa.mapping`,
    a `#bppsa.gpu_mapping`: what kernel runs it, how many threads share a row, where
    matrices are, how many steps are read ahead. A mapping that is there stays.

    ```mlir
    bppsa.recurrence sequences(%x : memref<?x?x12xf32>) initial(%h0 : memref<?x64xf32>) ...
    ```
    becomes
    ```mlir
    bppsa.recurrence sequences(%x : memref<?x?x12xf32>) initial(%h0 : memref<?x64xf32>) ...
        attributes {bppsa.mapping = #bppsa.gpu_mapping<block_per_row, threads = 128, parts = 2, stages = 8>}
    ```

    Sizes alone decide, and how arrays lie in memory: that is why the pass comes after
    bufferization, when equal loops are one and sums with the same right factor stand
    together. A remark of the category `mapping` says what was chosen, and what ruled out
    the mapping that would be taken before it.
  }];
  let options = [
    Option<"precision", "precision", "::bppsa::TensorPrecision", "::bppsa::TensorPrecision::FP32",
           "what tensor cores multiply", [{::llvm::cl::values(
      clEnumValN(::bppsa::TensorPrecision::FP32, "fp32", "float32, in three products"),
      clEnumValN(::bppsa::TensorPrecision::TF32, "tf32", "numbers of 11 bits"),
      clEnumValN(::bppsa::TensorPrecision::BF16, "bf16", "numbers of 8 bits"))}]>
  ];
  let statistics = [Statistic<"numMapped", "mapped", "operations that got a mapping">];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

#endif // BPPSA_DIALECT_BGPU_TRANSFORMS_MAPPING_PASSES
