//===- Passes.td - time loop passes ------------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_PASSES

include "mlir/Pass/PassBase.td"

def CopyVariant : Pass<"bppsa-copy-variant", "::mlir::ModuleOp"> {
  let summary = "Copy the functions of one backward pass for another";
  let description = [{
    Copies every function whose entry names the variant `from`, and gives the copies the variant
    `to`. The copies follow the last of the functions, in the same order. Example result:
    ```mlir
    func.func @step_scan(...) attributes {bppsa.entry = #bppsa.entry<role = step, variant = "scan">}
    ```
  }];
  let options = [
    Option<"from", "from", "std::string", /*default=*/"\"sequential\"",
           "Variant of the functions to copy">,
    Option<"to", "to", "std::string", /*default=*/"\"scan\"", "Variant of the copies">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::func::FuncDialect"];
}

def AddUnitVariants : Pass<"bppsa-add-unit-variants", "::mlir::ModuleOp"> {
  let summary = "Copy functions for a mapping of vectors to hidden units";
  let description = [{
    Copies the functions that a program calls and sets `bppsa.lanes = 1` on the copies, so that
    later passes fill vectors with hidden units of one sample. The entry of a copy has the flag
    `units`.

    Copied are the function with the role `forward`, every function of a variant, and every
    pipeline stage. Functions of the variant `scan` are copied only where a chain has a
    chunked plan, whose chunks then occupy the lanes; with `hopeful`, only where operation
    counts let such a scan win with one sample (docs/Explanation/CPUCosts.md). Example result:
    ```mlir
    func.func @forward_units(...) attributes {bppsa.entry = #bppsa.entry<role = forward, units = true>, bppsa.lanes = 1 : i64}
    ```
  }];
  let options = [
    Option<"hopeful", "hopeful", "bool", /*default=*/"false",
           "Copy only scans that may win with chunks in lanes">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::func::FuncDialect"];
}

def MergeRecurrences : Pass<"bppsa-merge-recurrences", "::mlir::func::FuncOp"> {
  let summary = "Merge recurrences with the same states";
  let description = [{
    Merges recurrences that read the same values and compute the same states into one recurrence
    with the outputs of all. Common subexpressions are eliminated before and after, including those
    in bodies. `--interlock` needs this pass: copies of a loop that are differentiated separately
    have different outputs.
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def FuseInjected : Pass<"bppsa-fuse-injected", "::mlir::func::FuncOp"> {
  let summary = "Fuse the computation of injected cotangents into chains";
  let description = [{
    Fuses a recurrence without states into a chain that injects its only result, if nothing else
    reads this result. The link of the chain computes the injected cotangent, so the injected
    sequence is never stored. This applies to sequential chains on packed tensors with samples in
    lanes. Recurrences with more multiply-adds than the link are not fused, because their time steps
    run in parallel.

    Sums of the sequences that the fused chain reads move after the chain so that `bppsa-block-time`
    finds them. Programs that guarantee an order of gradients omit this pass. Example result:
    ```mlir
    %g, %e = bppsa.chain lanes 16 saved(%h, %d : ...) seeds(%g0 : ...) ... {
      %0 = bppsa.matvec %wc, %dt plus %gt : ...
      %1 = arith.mulf %0, %ht : vector<20xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MergeProducts : Pass<"bppsa-merge-products", "::mlir::func::FuncOp"> {
  let summary = "Merge products of one sequence with several matrices";
  let description = [{
    Merges recurrences without states that only multiply the vectors of the same sequence by a
    captured matrix. The products must have the same form: all or none transpose their matrix, and
    all or none add a captured vector. Example result:
    ```mlir
    %ab:2 = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>)
        captures(%v, %w : tensor<4x8xf32>, tensor<6x8xf32>) ...
    ```
  }];
}

def ChooseCPUMapping : Pass<"bppsa-choose-cpu-mapping", "::mlir::func::FuncOp"> {
  let summary = "Choose the contents of SIMD lanes for each loop";
  let description = [{
    Sets the attribute `bppsa.mapping` of each time loop, transition and sum over steps on tensors
    to a `#bppsa.cpu_mapping`. By default vectors hold `lanes` samples. If the function has the
    attribute `bppsa.lanes = 1` (`bppsa-add-unit-variants`), vectors hold hidden units of one
    sample, and in chains with a `chunked` plan `lanes` chunks of time. Existing mappings are kept.
    A remark of the category `mapping` reports each choice. Example result:
    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x1xf32>) ...
        attributes {bppsa.mapping = #bppsa.cpu_mapping<samples, width = 16>} -> (tensor<?x?x20xf32>)
    ```
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", /*default=*/"16",
           "samples per vector; overridden by the attribute bppsa.lanes of a function">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def PackBatch : Pass<"bppsa-pack-batch", "::mlir::func::FuncOp"> {
  let summary = "Pack the samples of a batch into SIMD lanes";
  let description = [{
    Converts time loops and their sums to packed arrays with the number of samples per vector that
    their `#bppsa.cpu_mapping` specifies (`bppsa-choose-cpu-mapping`). `pack_lanes` and
    `unpack_lanes` convert operands from and results for other operations. Pairs of these ops
    cancel, also across slices along time and features and across concatenations of features.
    Elementwise operations on unpacked arrays are moved to packed arrays. Example result:
    ```mlir
    %p = bppsa.pack_lanes 16, %x : tensor<?x?x1xf32> -> tensor<?x?x1x16xf32>
    %q = bppsa.recurrence lanes 16 sequences(%p : tensor<?x?x1x16xf32>) ...
        -> (tensor<?x?x20x16xf32>)
    %h = bppsa.unpack_lanes 16, %q, %batch : tensor<?x?x20x16xf32> -> tensor<?x?x20xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def SeparateProducts : Pass<"bppsa-separate-products", "::mlir::func::FuncOp"> {
  let summary = "Hoist input projections out of recurrences";
  let description = [{
    Moves products that depend only on sequences, not on a state, to a loop without states before
    the recurrence.

    The pass applies to loops over hidden units whose matrices exceed the first-level cache, `cache`
    bytes, and to loops with samples in lanes whose matrices have at least `of-samples` bytes. The
    second limit is higher because 16 samples already share each read. Each sum adds its terms in
    the same order as before. A remark of the category `mapping` reports each hoisted product.
    Example result:
    ```mlir
    %p = bppsa.recurrence sequences(%x : tensor<?x?x64xf32>) ... outputs(tensor<?x?x128xf32>) {
      %0 = bppsa.matvec %wc, %xt : vector<128x64xf32>, vector<64xf32> -> vector<128xf32>
    %h = bppsa.recurrence sequences(%p : tensor<?x?x128xf32>) initial(%h0 : tensor<?x128xf32>) ... {
      %1 = bppsa.matvec %rc, %ht plus %pt : vector<128x128xf32>, vector<128xf32> plus vector<128xf32> -> vector<128xf32>
    ```
  }];
  let options = [
    Option<"cache", "cache", "int64_t", /*default=*/"::bppsa::cost::kFirstLevelCacheBytes",
           "bytes of the first-level cache">,
    Option<"ofSamples", "of-samples", "int64_t", /*default=*/"::bppsa::cost::kSecondLevelCacheBytes / 2",
           "minimum bytes of matrices for which loops with samples in lanes are split">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def TransposeCaptures : Pass<"bppsa-transpose-captures", "::mlir::func::FuncOp"> {
  let summary = "Transpose captured matrices so that their columns are contiguous";
  let description = [{
    Rewrites products `m x` in loops packed into one lane to products with a transposed capture.
    Example result:
    ```mlir
    %rt = linalg.transpose ins(%r : tensor<20x20xf32>) outs(...) permutation = [1, 0]
    %h = bppsa.recurrence lanes 1 ... captures(%rt : tensor<20x20xf32>) ... {
      %0 = bppsa.matvec transposed %rc, %ht : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def RecomputeSteps : Pass<"bppsa-recompute-steps", "::mlir::ModuleOp"> {
  let summary = "Recompute time steps segment by segment to limit memory";
  let description = [{
    Limits the memory for residuals, the per-step values that a chain reads from its recurrence, on
    packed tensors. With `memory-limit` these arrays hold only a segment of steps (checkpointing:
    Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 26(1), 2000, with one level).

    The recurrence keeps the states at the start of each segment. Before the chain continues with an
    earlier segment, the recurrence recomputes that segment. Sums of emitted values become running
    sums (`bppsa.add_to_sums`), and recurrences without states that read emitted values run per
    segment, too.

    `bppsa_rt_recomputed_steps(steps, samples, bytes of a step of one sample, bytes of its states,
    bytes of a step of all loops of the function, limit)` determines the segment length at run time:
    all steps if they fit, otherwise a multiple of 32. Gradients are bitwise equal to those without
    a limit. Arrays with other uses are kept in full, and so are the operands of sums that
    `bppsa-block-time` would not combine with their chain. Example result:
    ```mlir
    %h, %z = bppsa.recurrence lanes 16 sequences(%xk : ...) initial(%hk : ...) ... // the last segment
    %g, %d = bppsa.chain lanes 16 saved(%z : ...) seeds(%s : ...) ...
    %r = bppsa.add_to_sums 16 %d into %zeros : ...
    %gr:2 = scf.for ... iter_args(%gn = %g, %rn = %r) {
      // the recurrence on an earlier segment, the chain from %gn, %rn goes on
    }
    %w = bppsa.finish_sums 16 %gr#1 batch %b : ...
    ```
  }];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "maximum bytes of residuals that loops keep for their chains; 0 for no limit">
  ];
}

def JoinSequences : Pass<"bppsa-join-sequences", "::mlir::func::FuncOp"> {
  let summary = "Concatenate sequences of different lengths into rows";
  let description = [{
    Removes the cost of padding from recurrences over sequences of different lengths. The importer
    translates `sequence_lens` to a recurrence over all T steps of all B samples that keeps its
    states beyond the length of each sample. This pass concatenates the sequences to rows of an
    array `[S, R]` and restarts the recurrence at the start of each sequence. The cost is then
    proportional to the sum of lengths, rounded up to rows of equal length and blocks of 16 rows.

    Rows are filled at run time: longest sequence first, each into the row with the most free slots.
    R is B if all lengths are equal and decreases as they differ more, down to one block. An
    additional sequence of the loop is zero at unused slots and where a sequence starts; the initial
    states replace the states before these slots. Example result:
    ```mlir
    %xr = linalg.generic ... ins(%sequence, %step : ...) // x[step, sequence] or zero
    %keep = linalg.generic ... ins(%sequence, %step : ...) // 1 where a sequence goes on
    %hr = bppsa.recurrence sequences(%xr, %keep : tensor<?x?x8xf32>, tensor<?x?x1xf32>) ...
    %h = linalg.generic ... ins(%length, %row, %start, %h0 : ...) // hr[start + step, row]
    ```
    GPU programs do not support data-dependent sizes and keep the masks.
  }];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def DropStepDims : Pass<"bppsa-drop-step-dims", "::mlir::func::FuncOp"> {
  let summary = "Drop unit dimensions before the sample dimension of equal steps";
  let description = [{
    Drops a leading unit dimension of results of rank 3 or more, if at least `min-steps` equal
    operations have it, and folds the reshapes in between. `bppsa-roll-up-steps` expects samples in
    dimension 0.

    ```mlir
    %h1 = linalg.generic ... ins(%h0 : tensor<1x?x8xf32>) outs(%e : tensor<1x?x8xf32>)
    // becomes an operation on tensor<?x8xf32>
    ```
  }];
  let options = [
    Option<"minSteps", "min-steps", "unsigned", /*default=*/"4",
           "minimum number of equal operations whose dimension is dropped">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def RollUpSteps : Pass<"bppsa-roll-up-steps", "::mlir::func::FuncOp"> {
  let summary = "Roll up equal steps of straight-line code into recurrences";
  let description = [{
    Replaces unrolled copies of a cell, as exported from a Python loop, by one `bppsa.recurrence` in
    graph form over the samples in dimension 0. The copies are rolled up if all operations that
    they depend on are equal from step to step. A step may read

    * slices of sequences with a constant distance between steps,
    * arrays that all steps share,
    * arrays and constants of its own,
    * values of the previous step.

    Steps without a shared array are rolled up if equal operations depend on each other and read
    only slices of sequences. A `tensor.concat` of the values of all steps, in order or reversed,
    becomes one array. Slices of a reversed array are read from the original array by a reversed
    loop. Steps that differ, and fewer than `min-steps` steps, are unchanged.

    ```mlir
    %h1 = linalg.generic ... ins(%x0, %h0, %u : tensor<8x1xf32>, tensor<8x1xf32>, tensor<1xf32>)
    %h2 = linalg.generic ... ins(%x1, %h1, %u : tensor<8x1xf32>, tensor<8x1xf32>, tensor<1xf32>)
    ...
    ```
    becomes
    ```mlir
    %h = bppsa.recurrence sequences(%xs : tensor<4x8x1xf32>) initial(%h0 : tensor<8x1xf32>)
        captures(%u : tensor<1xf32>) -> (tensor<5x8x1xf32>) { ... }
    ```

    A remark of the category `roll-up` reports the number of steps of each loop.
  }];
  let options = [
    Option<"minSteps", "min-steps", "unsigned", /*default=*/"4",
           "minimum number of steps that become a loop, at least 3">,
    Option<"vectorsOnly", "vectors-only", "bool", /*default=*/"false",
           "roll up only steps that bppsa-vectorize-bodies can vectorize">
  ];
  let statistics = [Statistic<"numLoops", "loops", "recurrences that were created">];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def VectorizeBodies : Pass<"bppsa-vectorize-bodies", "::mlir::func::FuncOp"> {
  let summary = "Convert graph bodies of recurrences to vector form";
  let description = [{
    Converts the body of a `bppsa.recurrence` in graph form to vectors if it consists of products
    with captured matrices, elementwise operations, slices and concatenations. Scans, SIMD lanes and
    GPU kernels require vector form. A product is split if slices of its result are read, and if its
    vector is a concatenation, so that each gate of a cell becomes a separate product. Other bodies
    are unchanged. Example result:
    ```mlir
    ^bb0(%x: vector<3xf32>, %h: vector<4xf32>, %wx: vector<4x3xf32>, %wh: vector<4x4xf32>, ...):
      %0 = bppsa.matvec %wx, %x : vector<4x3xf32>, vector<3xf32> -> vector<4xf32>
      %i = bppsa.matvec %wh, %h plus %0 : vector<4x4xf32>, vector<4xf32> plus vector<4xf32> -> vector<4xf32>
    ```
  }];
  let statistics = [Statistic<"numVectorized", "loops", "recurrences that were converted to vector form">];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_PASSES
