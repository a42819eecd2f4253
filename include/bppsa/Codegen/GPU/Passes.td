//===- Passes.td - GPU code generation ---------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_GPU_PASSES
#define BPPSA_CODEGEN_GPU_PASSES

include "mlir/Pass/PassBase.td"

def CopyConstants : Pass<"bppsa-copy-constants", "::mlir::func::FuncOp"> {
  let summary = "Copy constant arrays and scalars of the host to device memory";
  let description = [{
    Makes constants accessible to kernels, in functions on memory of GPU programs. Constant arrays
    exist in both the host and the device program. A launch copies each array that a function uses
    to device memory, where kernels access it like any other array. A scalar that the host has
    computed and stores, such as a size, is stored by a device thread instead. Kernels are
    unchanged.

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
  let summary = "Lower bufferized graph operations to GPU launches";
  let description = [{
    Lowers the operations that `convert-bppsa-to-bgpu` leaves in the functions created by
    `bppsa-outline-kernels`: structured ops, copies, host loops over elements, and the numeric phase
    of sparse Jacobian products. The distribution is fixed: one thread per element of the result,
    one block per element for long reductions, and one warp per row of a sparse matrix.

    Host functions cannot access elements of device memory. The pass fails on operations that would
    require it.

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
