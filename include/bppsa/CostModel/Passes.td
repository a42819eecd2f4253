//===- Passes.td - passes: costs of scan plans ----------- -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_PASSES
#define BPPSA_COSTMODEL_PASSES

include "mlir/Pass/PassBase.td"

def EvaluatePlan : Pass<"bppsa-evaluate-plan", "::mlir::ModuleOp"> {
  let summary = "writes what scan plans cost on the chains of a module";
  let description = [{
    For every `bppsa.chain`, for every list of `jacobian.apply` ops
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
        seeds(%g : tensor<8x4xf32>) -> (tensor<8x4xf32>) { ... }
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
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

#endif // BPPSA_COSTMODEL_PASSES
