//===- Passes.td - Jacobian passes -------------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_TRANSFORMS_PASSES
#define BPPSA_DIALECT_JACOBIAN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InferStructure : Pass<"bppsa-infer-structure", "::mlir::func::FuncOp"> {
  let summary = "Infer the structure of transposed Jacobians";
  let description = [{
    Infers the structure of the transposed Jacobian of one step of every `bppsa.chain` over vectors,
    and sets its attributes `structure` and, if the Jacobian is a sum of scaled matrices, `terms`.

    Also sets the attribute `jacobian.operands` of

    * every `bppsa.recurrence` with states, to the type of the transposed Jacobian of one step,
    * every operation on a path from a graph input to a result of a function without gradients, to
      one entry per operand and then per tensor that the body captures: the type of the transposed
      Jacobian of one sample, or `none` if the value carries no sample.

    Rows of a matrix correspond to elements of the operand and columns to elements of the result,
    both in row-major order. Zeros of a structure hold for all values of the inputs. A `batch`
    states that each sample has its own matrix.

    The sample dimension of an input is given by its `bppsa.batch_axis`, or by `batch-axis` if no
    input has this attribute. Remarks of the category `structure` report the inferred structures and
    the reasons why a structure is unknown. Example result:
    ```mlir
    %0 = linalg.generic {indexing_maps = [#id, #id], ...} ins(%x : tensor<?x6xf32>) ...
        attrs = {jacobian.operands = #jacobian.operands<!jacobian.matrix<6x6xf32, diagonal, batch = ?>, none>}
    ```
  }];
  let options = [
    Option<"batchAxis", "batch-axis", "int64_t", /*default=*/"0",
           "sample dimension if no input has bppsa.batch_axis">,
    Option<"loopsOnly", "loops-only", "bool", /*default=*/"false",
           "infer structures of time loops only">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def SparsifyProducts : Pass<"bppsa-sparsify-products", "::mlir::func::FuncOp"> {
  let summary = "Skip multiplications by pruned weights";
  let description = [{
    Replaces linear operations with pruned weights, such as a convolution or the product of a
    `Gemm`, by the `jacobian.apply` of a `jacobian.assemble` of the weights. This applies if the
    matrix of the operation consists of elements of an argument with `bppsa.nonzeros`, and if at
    most `max-share` of the operation's multiply-adds have a nonzero weight. Remarks of the category
    `products` report the decision for each operation.

    For a weight with two nonzeros:
    ```mlir
    %j = jacobian.assemble %w at [1, 11] : tensor<3x4xf32> -> !jacobian.matrix<3x4xf32, csr(#pattern)>
    %p = jacobian.apply %j, %x : !jacobian.matrix<3x4xf32, csr(#pattern)>, tensor<?x4xf32> -> tensor<?x3xf32>
    %y = linalg.add ins(%p, %b : tensor<?x3xf32>, tensor<?x3xf32>) ...
    ```
  }];
  let options = [
    Option<"maxShare", "max-share", "double", /*default=*/"0.05",
           "largest share of nonzero multiply-adds for which the sparse form is used">,
  ];
  let statistics = [
    Statistic<"numSparse", "sparse-products", "Products computed by their nonzeros">,
  ];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def PlanSparseProducts : Pass<"bppsa-plan-sparse-products", "::mlir::func::FuncOp"> {
  let summary = "Choose the storage of products of Jacobians and check their memory";
  let description = [{
    Runs the symbolic phase of every `jacobian.compose`: its result type contains the sparsity
    pattern, and a remark of the category `products` reports the multiply-adds and the bytes of its
    values (per sample, if samples have their own). A product in which more than `break-even` of the
    elements are possibly nonzero becomes dense, which needs no indices.

    All Jacobians of a function, including indices and for `batch` samples, must fit in
    `memory-limit` bytes. Otherwise the pass emits an error with both sizes.
  }];
  let options = [
    Option<"breakEven", "break-even", "double", /*default=*/"0.5",
           "share of possible nonzeros from which a product is stored dense">,
    Option<"batch", "batch", "int64_t", /*default=*/"1",
           "assumed number of samples if the batch size is dynamic">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "maximum bytes of all Jacobians; 0 for no limit">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def LowerProducts : Pass<"bppsa-lower-products", "::mlir::func::FuncOp"> {
  let summary = "Lower Jacobians to arrays and their products to numeric phases";
  let description = [{
    Represents each Jacobian by the array of its possibly nonzero entries: `[N]`, or `[N, B]` with
    samples in the last dimension if each sample has its own matrix. The row starts and the column
    of each entry become constants, unless every element is possibly nonzero. A `jacobian.assemble`
    with positions uses its source in place and adds a constant of positions.

    `jacobian.compose` becomes `jacobian.sparse_compose`. `jacobian.apply` becomes
    `jacobian.sparse_apply`, or an elementwise product if the Jacobian is diagonal. Cotangents are
    `[N, B]` between products. Example result:
    ```mlir
    %r = jacobian.sparse_apply values(%w : tensor<2xf32>) rows(%starts : tensor<4xi32>) columns(%columns : tensor<4xi32>)
        at(%positions : tensor<4xi32>) cotangent(%g : tensor<2x?xf32>) -> tensor<3x?xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_DIALECT_JACOBIAN_TRANSFORMS_PASSES
