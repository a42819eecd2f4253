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
    Makes constants accessible to kernels, in functions on memory of GPU programs. A launch copies
    each constant array that a function uses to device memory, where kernels access it like any
    other array. A scalar that the host has computed and stores, such as a size, is stored by a
    device thread instead. Example result:
    ```mlir
    %0 = memref.alloc() : memref<3xf32>
    gpu.launch ... {
      %1 = memref.get_global @table : memref<3xf32>
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
    of sparse Jacobian products: one thread per element of the result, one block per element for
    long reductions, and one warp per row of a sparse matrix.

    Host functions cannot access elements of device memory. The pass fails on operations that would
    require it.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // BPPSA_CODEGEN_GPU_PASSES
