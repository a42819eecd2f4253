//===- Passes.td - passes on products of explicit Jacobians -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PRODUCTS_PASSES
#define BPPSA_PRODUCTS_PASSES

include "mlir/Pass/PassBase.td"

def ScanLinks : Pass<"bppsa-scan-links", "::mlir::ModuleOp"> {
  let summary = "gives lists of links a parallel association order";
  let description = [{
    A list of links is a sequence of `bppsa.apply` ops each of which works on the
    result of the one before it. The pass replaces each list, or each in the
    function `function`, by the tree of the plan `algorithm`: `bppsa.compose` for
    products of two Jacobians and `bppsa.apply` for those with a cotangent (Wang,
    Bai, Pekhimenko: BPPSA, MLSys 2020). The structure of a product is that of
    the product table.

    `auto` evaluates `linear`, `hybrid:1`, `hybrid:2`, ... (docs/PlanEvaluator.md)
    for `workers` and a `step-overhead`, and takes the plan with the shortest
    makespan among those whose Jacobians fit in `memory-limit`.

    A list is cut where a Jacobian is not defined before its first product.
    `chunked` without a size makes about as many chunks as a chunk has links.
    Remarks of the category `scan` say what was done.

    With `algorithm=blelloch`, the list
    ```mlir
    %1 = bppsa.apply %a, %g : !bppsa.jacobian<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %2 = bppsa.apply %b, %1 : !bppsa.jacobian<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %3 = bppsa.apply %c, %2 : !bppsa.jacobian<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %1 = bppsa.apply %a, %g : !bppsa.jacobian<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %bc = bppsa.compose %b, %c : !bppsa.jacobian<4x4xf32, dense>, !bppsa.jacobian<4x4xf32, dense>
        -> !bppsa.jacobian<4x4xf32, dense>
    %3 = bppsa.apply %bc, %1 : !bppsa.jacobian<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %2 = bppsa.apply %b, %1 : !bppsa.jacobian<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", /*default=*/"\"auto\"",
           "auto, linear, blelloch, hybrid:L or chunked:C">,
    Option<"function", "function", "std::string", /*default=*/"\"\"",
           "name of the only function to rewrite; empty for all">,
    Option<"batch", "batch", "int64_t", /*default=*/"1",
           "samples that auto expects where their number is known at run time only">,
    Option<"workers", "workers", "int64_t", /*default=*/"2", "workers that auto expects">,
    Option<"stepOverhead", "step-overhead", "int64_t", /*default=*/"0",
           "FLOPs that a worker could do during one barrier or launch, for auto">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes that auto may spend on Jacobians; 0 for no limit">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def PlanSparseProducts : Pass<"bppsa-plan-sparse-products", "::mlir::func::FuncOp"> {
  let summary = "decides how products of Jacobians are stored, and how much memory they take";
  let description = [{
    The symbolic phase of every `bppsa.compose`: the pattern of its result is
    part of its type, and a remark of the category `products` tells the number
    of multiply-adds and the bytes of its values (of one sample, where samples
    have their own). A product with more than `break-even` of its elements
    becomes dense: its elements need no indices.

    All Jacobians of a function, with their indices and `batch` samples, must
    fit in `memory-limit` bytes; the error of a function where they do not names
    both numbers.

    ```mlir
    %c = bppsa.compose %a, %b : !bppsa.jacobian<4x4xf32, csr(#p)>, !bppsa.jacobian<4x4xf32, csr(#q)>
        -> !bppsa.jacobian<4x4xf32, csr(#nearly_full)>
    ```
    becomes
    ```mlir
    %c = bppsa.compose %a, %b : !bppsa.jacobian<4x4xf32, csr(#p)>, !bppsa.jacobian<4x4xf32, csr(#q)>
        -> !bppsa.jacobian<4x4xf32, dense>
    ```
  }];
  let options = [
    Option<"breakEven", "break-even", "double", /*default=*/"0.5",
           "share of possible nonzeros from which a product is stored dense">,
    Option<"batch", "batch", "int64_t", /*default=*/"1",
           "samples that are planned for where their number is known at run time only">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes that Jacobians may take; 0 for no limit">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def LowerProducts : Pass<"bppsa-lower-products", "::mlir::func::FuncOp"> {
  let summary = "turns explicit Jacobians into arrays and products into their numeric phases";
  let description = [{
    A Jacobian becomes the array of its possible nonzeros, `[N]` or, where every
    sample has its own, `[N, B]` with samples side by side; where they are
    becomes constants: the starts of rows and the columns of entries, unless every
    element is possible. `bppsa.assemble` with positions leaves its source where
    it is and adds a constant of positions. `bppsa.compose` becomes
    `bppsa.sparse_compose` and `bppsa.apply` `bppsa.sparse_apply`, or a product
    of elements where the Jacobian is a diagonal. Cotangents are `[N, B]` between
    products.

    ```mlir
    %j = bppsa.assemble %w at [0, 1, 0, 1] : tensor<2xf32> -> !bppsa.jacobian<3x2xf32, csr(#pattern)>
    %r = bppsa.apply %j, %g : !bppsa.jacobian<3x2xf32, csr(#pattern)>, tensor<?x2xf32> -> tensor<?x3xf32>
    ```
    becomes, with the transpositions of `%g` and `%r` left out,
    ```mlir
    %starts = arith.constant dense<[0, 1, 3, 4]> : tensor<4xi32>
    %columns = arith.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
    %positions = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
    %r = bppsa.sparse_apply %w : tensor<2xf32> rows %starts : tensor<4xi32> columns %columns : tensor<4xi32>
        at %positions : tensor<4xi32> cotangent %g : tensor<2x?xf32> -> tensor<3x?xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_PRODUCTS_PASSES
