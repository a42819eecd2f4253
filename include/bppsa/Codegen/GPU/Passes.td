//===- Passes.td - launches of graph operations ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_GPU_PASSES
#define BPPSA_CODEGEN_GPU_PASSES

include "mlir/Pass/PassBase.td"

def CopyConstants : Pass<"bppsa-copy-constants", "::mlir::func::FuncOp"> {
  let summary = "copies constant arrays and numbers of the host to device memory";
  let description = [{
    For programs for GPUs, on memory. Constant arrays are in the program of the host and in
    that of the device. A launch copies each that a function uses to device memory, where
    kernels get it as any other array. What the host has computed and stores, such as a
    size, a thread stores; kernels store by themselves.

    For example,
    ```mlir
    %0 = memref.get_global @table : memref<3xf32>
    ```
    becomes
    ```mlir
    %0 = memref.alloc() : memref<3xf32>
    gpu.launch ... {
      %1 = memref.get_global @table : memref<3xf32>
      ... // %number: this thread's
      %2 = memref.load %1[%number] : memref<3xf32>
      memref.store %2, %0[%number] : memref<3xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def ConvertGraphToGPU : Pass<"convert-graph-to-gpu", "::mlir::func::FuncOp"> {
  let summary = "lowers bufferized operations of the graph to launches on a GPU";
  let description = [{
    For the functions that `bppsa-outline-kernels` makes, of what
    `convert-bppsa-to-bgpu` have left:
    structured ops, copies, loops of the host over elements, and the numeric phase of products
    of sparse Jacobians. No mapping is chosen for them: a thread has an element of the result,
    or a block where it is a long reduction; a warp has a row of a sparse matrix.

    Functions of the host may not read or write elements: what would need that is refused.

    For example,
    ```mlir
    memref.copy %a, %b : memref<?xf32> to memref<?xf32>
    ```
    becomes
    ```mlir
    %blocks = arith.ceildivui %count, %c128 : index
    gpu.launch blocks(...) in (%x = %blocks, ...) threads(...) in (%y = %c128, ...) {
      ... // %number: this thread's
      %exists = arith.cmpi ult, %number, %count : index
      scf.if %exists {
        %0 = memref.load %a[%number] : memref<?xf32>
        memref.store %0, %b[%number] : memref<?xf32>
      }
      gpu.terminator
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // BPPSA_CODEGEN_GPU_PASSES
