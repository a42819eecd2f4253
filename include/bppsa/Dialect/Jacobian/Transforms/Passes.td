//===- Passes.td - passes: structure and products of Jacobians - -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_TRANSFORMS_PASSES
#define BPPSA_DIALECT_JACOBIAN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InferStructure : Pass<"bppsa-infer-structure", "::mlir::func::FuncOp"> {
  let summary = "finds the structure of transposed Jacobians";
  let description = [{
    Writes the structure of the transposed Jacobian of one step into every
    `bppsa.chain` over vectors: `structure`, and `terms` where it is a sum of
    scaled matrices. `bppsa-expand-scan` reads both. The structure follows from
    the body: a product with a captured matrix multiplies by a matrix that all
    steps share, an elementwise function by a diagonal.

    Sets the attribute `jacobian.operands` of

    * every `bppsa.recurrence` with states, to the type of the transposed Jacobian
      of one step.
    * every operation between a graph input and a result of a function without
      gradients, to an array with an element for each operand and then for each
      tensor that the body reads: the type of the transposed Jacobian of one
      sample, or `unit` where the operand carries no sample. It follows from the
      indexing maps, slices and reshapes of the operation.

    Rows of a matrix are elements of the operand, columns those of the result,
    both in row-major order. Zeros are guaranteed: whatever the values are, they
    are zero. A `batch` says that samples have matrices of their own.

    Samples run along the dimension that `bppsa.batch_axis` of an input names, or
    along `batch-axis` where no input has that attribute. Remarks of the category
    `structure` say what was found, or why nothing is known.

    ```mlir
    %0 = linalg.generic {indexing_maps = [#id, #id], ...} ins(%x : tensor<?x6xf32>) ... {
      %1 = arith.maximumf %in, %zero : f32
    ```
    becomes
    ```mlir
    %0 = linalg.generic {indexing_maps = [#id, #id], ...} ins(%x : tensor<?x6xf32>) ...
        attrs = {jacobian.operands = #jacobian.operands<!jacobian.matrix<6x6xf32, diagonal, batch = ?>, none>} {
      %1 = arith.maximumf %in, %zero : f32
    ```
  }];
  let options = [
    Option<"batchAxis", "batch-axis", "int64_t", /*default=*/"0",
           "dimension of samples where no input says">,
    Option<"loopsOnly", "loops-only", "bool", /*default=*/"false",
           "leave out operations that are no time loops">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def SparsifyProducts : Pass<"bppsa-sparsify-products", "::mlir::func::FuncOp"> {
  let summary = "computes products with pruned weights by their nonzeros alone";
  let description = [{
    A linear operation of a graph, such as a convolution or the product of `Gemm`,
    is its matrix applied to each sample. Where the values of the matrix are
    elements of an argument with `bppsa.nonzeros`, and no more than `max-share` of
    the multiply-adds of the operation are left without its zeros, the operation
    becomes that: `jacobian.apply` of a `jacobian.assemble` of the weights. What the operation adds to, its bias, is
    added afterwards. Padding before the operation becomes a part of the matrix.
    Other operations stay. Remarks of the category `products` say what became of
    each.

    ```mlir
    %y = linalg.generic {...} ins(%x, %w : tensor<?x4xf32>, tensor<3x4xf32>) outs(%b : tensor<?x3xf32>) {...}
    ```
    becomes, where two elements of `%w` can differ from zero,
    ```mlir
    %j = jacobian.assemble %w at [1, 11] : tensor<3x4xf32> -> !jacobian.matrix<3x4xf32, csr(#pattern)>
    %p = jacobian.apply %j, %x : !jacobian.matrix<3x4xf32, csr(#pattern)>, tensor<?x4xf32> -> tensor<?x3xf32>
    %y = linalg.add ins(%p, %b : tensor<?x3xf32>, tensor<?x3xf32>) ...
    ```
  }];
  let options = [
    Option<"maxShare", "max-share", "double", /*default=*/"0.05",
           "share of multiply-adds up to which those that are left are computed alone">,
  ];
  let statistics = [
    Statistic<"numSparse", "sparse-products", "Products computed by their nonzeros">,
  ];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def PlanSparseProducts : Pass<"bppsa-plan-sparse-products", "::mlir::func::FuncOp"> {
  let summary = "decides how products of Jacobians are stored, and how much memory they take";
  let description = [{
    The symbolic phase of every `jacobian.compose`: the pattern of its result is
    part of its type, and a remark of the category `products` tells the number
    of multiply-adds and the bytes of its values (of one sample, where samples
    have their own). A product with more than `break-even` of its elements
    becomes dense: its elements need no indices.

    All Jacobians of a function, with their indices and `batch` samples, must
    fit in `memory-limit` bytes; the error of a function where they do not names
    both numbers.

    ```mlir
    %c = jacobian.compose %a, %b : !jacobian.matrix<4x4xf32, csr(#p)>, !jacobian.matrix<4x4xf32, csr(#q)>
        -> !jacobian.matrix<4x4xf32, csr(#nearly_full)>
    ```
    becomes
    ```mlir
    %c = jacobian.compose %a, %b : !jacobian.matrix<4x4xf32, csr(#p)>, !jacobian.matrix<4x4xf32, csr(#q)>
        -> !jacobian.matrix<4x4xf32, dense>
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
    element is possible. `jacobian.assemble` with positions leaves its source where
    it is and adds a constant of positions. `jacobian.compose` becomes
    `jacobian.sparse_compose` and `jacobian.apply` `jacobian.sparse_apply`, or a product
    of elements where the Jacobian is a diagonal. Cotangents are `[N, B]` between
    products.

    ```mlir
    %j = jacobian.assemble %w at [0, 1, 0, 1] : tensor<2xf32> -> !jacobian.matrix<3x2xf32, csr(#pattern)>
    %r = jacobian.apply %j, %g : !jacobian.matrix<3x2xf32, csr(#pattern)>, tensor<?x2xf32> -> tensor<?x3xf32>
    ```
    becomes, with the transpositions of `%g` and `%r` left out,
    ```mlir
    %starts = arith.constant dense<[0, 1, 3, 4]> : tensor<4xi32>
    %columns = arith.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
    %positions = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
    %r = jacobian.sparse_apply %w : tensor<2xf32> rows %starts : tensor<4xi32> columns %columns : tensor<4xi32>
        at %positions : tensor<4xi32> cotangent %g : tensor<2x?xf32> -> tensor<3x?xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_DIALECT_JACOBIAN_TRANSFORMS_PASSES
