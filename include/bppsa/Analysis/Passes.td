//===- Passes.td - Analysis passes -------------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_ANALYSIS_PASSES
#define BPPSA_ANALYSIS_PASSES

include "mlir/Pass/PassBase.td"

def EvaluatePlan : Pass<"bppsa-evaluate-plan", "::mlir::ModuleOp"> {
  let summary = "writes what scan plans cost on the chains of a module";
  let description = [{
    For every `bppsa.chain`, for every list of `bppsa.apply` ops
    each of which works on the result of the one before it, and for every list
    of layers whose structure `bppsa-infer-structure` found, evaluates plans: depth, number and kind of products in each level, FLOPs, FLOPs of the
    critical path, bytes, memory, and the time of several workers. The figures,
    defined in `docs/PlanEvaluator.md`, go to `output` as JSON, and in short to
    remarks of the category `evaluate`. The module is not changed.

    The operations are those of the scan schedule from which trees are
    expanded. A link of a chain or scan is code: linear and chunked plans apply
    it to one column, or to all columns of a chunk's aggregate; trees form its
    matrix first. Elements of a list are matrices with the structure of their
    type.

    Without `algorithms`, a scan is evaluated for its plan and a chain for
    `linear`, `blelloch`, `hybrid:2` and `chunked:32`.

    With `gpu`, chains and scans over one sample at a time also have what
    `docs/GPUCosts.md` predicts that `sequential`, `chunked` and `algorithms`
    take on a GPU: for these sizes, and `sequential` against `chunked` for a grid
    of others.

    `bppsa-opt a.mlir --bppsa-evaluate-plan="workers=1,4 output=a.json"` on
    ```mlir
    %0 = bppsa.chain plan <chunked, 32> saved(%a : tensor<1024x8x4xf32>)
        seeds(%g : tensor<8x4xf32>) inject_into [] -> (tensor<8x4xf32>) { ... }
    ```
    writes
    ```
    {"format": 1, "step_overhead": 0, "chains": [{"name": "f#0", "links": 1024, ...
    ```
  }];
  let options = [
    ListOption<"algorithms", "algorithms", "std::string",
               "plans: linear, blelloch, hybrid:L, chunked:C">,
    Option<"batch", "batch", "int64_t", /*default=*/"1",
           "samples of chains whose batch is known at run time only">,
    Option<"gpu", "gpu", "bool", /*default=*/"false",
           "also predict times on a GPU by the shipped constants">,
    Option<"length", "length", "int64_t", /*default=*/"0",
           "steps of chains whose length is known at run time only">,
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "file to write to; - is standard output">,
    Option<"sparseCotangents", "sparse-cotangents", "bool", /*default=*/"false",
           "count products with elements of cotangents that are known to be zero as free">,
    Option<"stepOverhead", "step-overhead", "int64_t", /*default=*/"0",
           "FLOPs that a worker could do during one barrier or launch">,
    ListOption<"workers", "workers", "int64_t", "numbers of workers; default 1">,
  ];
}

def InferStructure : Pass<"bppsa-infer-structure", "::mlir::func::FuncOp"> {
  let summary = "finds the structure of transposed Jacobians";
  let description = [{
    Sets the attribute `bppsa.jacobian` of

    * every `bppsa.recurrence` and `bppsa.chain` with states, to
      the type of the transposed Jacobian of one step. It follows from the body:
      a product with a captured matrix multiplies by a matrix that all steps
      share, an elementwise function by a diagonal.
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
        attrs = {bppsa.jacobian = [!bppsa.jacobian<6x6xf32, diagonal, batch = ?>, unit]} {
      %1 = arith.maximumf %in, %zero : f32
    ```
  }];
  let options = [
    Option<"batchAxis", "batch-axis", "int64_t", /*default=*/"0",
           "dimension of samples where no input says">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

#endif // BPPSA_ANALYSIS_PASSES
