//===- Passes.td - cost model passes -----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_PASSES
#define BPPSA_COSTMODEL_PASSES

include "mlir/Pass/PassBase.td"

def EvaluatePlan : Pass<"bppsa-evaluate-plan", "::mlir::ModuleOp"> {
  let summary = "Report the costs of scan plans for the chains of a module";
  let description = [{
    Evaluates scan plans for every `bppsa.chain`, every list of `jacobian.apply` ops that apply to
    each other's results, and every list of layers whose structure `bppsa-infer-structure` found.
    For each plan it reports the depth, the number and type of products per level, FLOPs, FLOPs of
    the critical path, bytes, memory, and the time for several numbers of workers
    (docs/Explanation/PlanEvaluator.md). They are written to `output` as JSON and summarized in
    remarks of the category `evaluate`. The module is not changed.

    Without `algorithms`, a scan is evaluated for its plan and a chain for `linear`, `blelloch`,
    `hybrid:2` and `chunked:32`.

    With `gpu`, unpacked chains also report GPU times predicted by the model of
    `docs/Explanation/GPUCosts.md`: of `sequential`, `chunked` and `algorithms` for the given sizes,
    and of `sequential` and `chunked` for a grid of other sizes.

    `bppsa-opt a.mlir --bppsa-evaluate-plan="workers=1,4 output=a.json"` writes
    ```
    {"format": 1, "step_overhead": 0, "chains": [{"name": "f#0", "links": 1024, ...
    ```
  }];
  let options = [
    ListOption<"algorithms", "algorithms", "std::string",
               "plans: linear, blelloch, hybrid:L, chunked:C">,
    Option<"batch", "batch", "int64_t", /*default=*/"1",
           "assumed number of samples if the batch size is dynamic">,
    Option<"gpu", "gpu", "bool", /*default=*/"false",
           "also predict GPU times with the built-in constants">,
    Option<"length", "length", "int64_t", /*default=*/"0",
           "assumed number of steps if the length is dynamic">,
    Option<"output", "output", "std::string", /*default=*/"\"-\"",
           "output file; - for standard output">,
    Option<"sparseCotangents", "sparse-cotangents", "bool", /*default=*/"false",
           "count products with known zeros of cotangents as free">,
    Option<"stepOverhead", "step-overhead", "int64_t", /*default=*/"0",
           "cost of one barrier or launch in FLOPs of a worker">,
    ListOption<"workers", "workers", "int64_t", "numbers of workers to evaluate; default 1">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

#endif // BPPSA_COSTMODEL_PASSES
