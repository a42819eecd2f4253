//===- Passes.td - passes: time loops and their variants - -*- tablegen -*-===//
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
    Copies every function whose entry names the variant `from`, and gives the copies the
    variant `to`. The copies follow the last of the functions, in the same order. Variants
    differ only in their scan plans, which later passes set, so everything before is done
    once.

    ```mlir
    func.func @step_sequential(...) attributes {bppsa.entry = #bppsa.entry<role = step, variant = "sequential">}
    ```
    with `from=sequential to=scan`, is followed by
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
    In a small batch most lanes that hold samples are idle. The pass copies the functions
    that a program calls and sets `bppsa.lanes = 1` on the copies, so that later passes fill
    vectors with hidden units of one sample. The entry of a copy has the flag `units`.

    Copied are the function with the role `forward`, every function of a variant, and every
    pipeline stage. Functions of the variant `scan` are copied only where a chain has a
    chunked plan, whose chunks then occupy the lanes; with `hopeful`, only where operation
    counts let such a scan win with one sample (docs/CPUCosts.md).

    ```mlir
    func.func @forward(...) attributes {bppsa.entry = #bppsa.entry<role = forward>}
    ```
    is followed by
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
  let summary = "makes loops with the same states one loop";
  let description = [{
    Loops that read the same values and compute the same states become one, which puts
    out what each of them does. Common subexpressions are eliminated before and after, in the bodies, too.
    `--interlock` needs that: copies of a loop that are differentiated apart have different outputs.

    ```mlir
    %h = bppsa.recurrence sequences(%x : ...) initial(%h0 : ...) -> (tensor<?x?x4xf32>) { ... }
    %k, %y = bppsa.recurrence sequences(%x : ...) initial(%h0 : ...) -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>) { ... }
    ```
    becomes
    ```mlir
    %k, %y = bppsa.recurrence sequences(%x : ...) initial(%h0 : ...) -> (tensor<?x?x4xf32>) outputs(tensor<?x?x4xf32>) { ... }
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def FuseInjected : Pass<"bppsa-fuse-injected", "::mlir::func::FuncOp"> {
  let summary = "make chains compute the cotangents that they inject";
  let description = [{
    On packed tensors, for chains over samples in lanes with a sequential plan. Where a sequence that a
    chain injects is all that a recurrence without states computes, and nothing else reads it, the
    link computes it: it becomes affine, and the sequence is never in memory. It saves what the
    recurrence read. Recurrences with more multiply-adds than the link stay: threads share their
    steps, and those of a chain they do not.

    Sums of what such a chain saves, the gradients of the layer whose cotangents they are, move
    behind it, where `bppsa-block-time` finds them. Programs that promise an order of gradients leave
    the pass out.

    ```mlir
    %s = bppsa.recurrence lanes 16 sequences(%d : ...) captures(%w : ...) outputs(...) {
      %0 = bppsa.matvec %wc, %dt : ...
    %db = bppsa.step_sum lanes 16 %d ...
    %g, %e = bppsa.chain lanes 16 saved(%h : ...) seeds(%g0 : ...) injected(%s : ...) inject_into [0] ... {
      %1 = arith.mulf %gt, %ht : vector<20xf32>
    ```
    becomes
    ```mlir
    %g, %e = bppsa.chain lanes 16 saved(%h, %d : ...) seeds(%g0 : ...) ... {
      %0 = bppsa.matvec %wc, %dt plus %gt : ...
      %1 = arith.mulf %0, %ht : vector<20xf32>
    %db = bppsa.step_sum lanes 16 %d ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def MergeProducts : Pass<"bppsa-merge-products", "::mlir::func::FuncOp"> {
  let summary = "make products of one sequence with several matrices one loop";
  let description = [{
    Recurrences without states that do nothing but multiply the vectors of the same
    sequence by a captured matrix become one, in the place of the first of them, where
    their captures can be there. They are alike in what they do: all transpose their
    matrices or none does, and all add a captured vector or none does.

    ```mlir
    %a = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) captures(%v : tensor<4x8xf32>) ...
    %b = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>) captures(%w : tensor<6x8xf32>) ...
    ```
    becomes
    ```mlir
    %ab:2 = bppsa.recurrence sequences(%x : tensor<?x?x8xf32>)
        captures(%v, %w : tensor<4x8xf32>, tensor<6x8xf32>) ...
    ```
  }];
}

def ChooseCPUMapping : Pass<"bppsa-choose-cpu-mapping", "::mlir::func::FuncOp"> {
  let summary = "choose what the vectors of loops hold";
  let description = [{
    Gives each time loop, transition and sum over steps on tensors the attribute `bppsa.mapping`, a
    `#bppsa.cpu_mapping`: vectors of `lanes` samples, or of the hidden units of one sample
    where the function has the attribute `bppsa.lanes = 1` (`bppsa-add-unit-variants`), and
    there of `lanes` chunks of time in chains with a plan of chunks.
    What is there stays. A remark of the category `mapping` says what was chosen.

    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x1xf32>) ... -> (tensor<?x?x20xf32>)
    ```
    becomes
    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x1xf32>) ...
        attributes {bppsa.mapping = #bppsa.cpu_mapping<samples, width = 16>} -> (tensor<?x?x20xf32>)
    ```
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", /*default=*/"16",
           "Samples in one vector; a function's attribute `bppsa.lanes` goes before it">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def PackBatch : Pass<"bppsa-pack-batch", "::mlir::func::FuncOp"> {
  let summary = "group the samples of a batch into SIMD lanes";
  let description = [{
    Time loops and their sums work on packed arrays, of as many samples in a vector as
    the `#bppsa.cpu_mapping` of each says (`bppsa-choose-cpu-mapping`), with `pack_lanes` and
    `unpack_lanes` where other operations produce or use them. Pairs of these
    cancel, also around slices along time and features and around features laid one behind the
    other, and elementwise operations on unpacked arrays are done on packed ones.

    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x1xf32>) ...
        attributes {bppsa.mapping = #bppsa.cpu_mapping<samples, width = 16>} -> (tensor<?x?x20xf32>)
    ```
    becomes
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
  let summary = "products of inputs in a loop without states";
  let description = [{
    A step of a loop reads all matrices of the body. Products of sequences alone do not wait for a
    state: they become a loop of their own in front, in which steps share what is read of a matrix
    (`bppsa-choose-task-mapping`). So do those of loops over units whose matrices leave the
    first-level cache, as they take more than `cache` bytes, and of loops with samples in lanes whose
    matrices, of `of-samples` bytes or more, take much of the second-level cache: a lane already
    shares what is read with 15 others, and the results of all steps are written and read. Each sum
    adds its terms in the order in which it adds them in one loop. A remark of the category `mapping`
    says what was separated.

    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x64xf32>) initial(%h0 : tensor<?x128xf32>) ... {
      %0 = bppsa.matvec %wc, %xt : vector<128x64xf32>, vector<64xf32> -> vector<128xf32>
      %1 = bppsa.matvec %rc, %ht plus %0 : vector<128xf32> : vector<128x128xf32>, vector<128xf32> -> vector<128xf32>
    ```
    becomes
    ```mlir
    %p = bppsa.recurrence sequences(%x : tensor<?x?x64xf32>) ... outputs(tensor<?x?x128xf32>) {
      %0 = bppsa.matvec %wc, %xt : vector<128x64xf32>, vector<64xf32> -> vector<128xf32>
    %h = bppsa.recurrence sequences(%p : tensor<?x?x128xf32>) initial(%h0 : tensor<?x128xf32>) ... {
      %1 = bppsa.matvec %rc, %ht plus %pt : vector<128xf32> : vector<128x128xf32>, vector<128xf32> -> vector<128xf32>
    ```
  }];
  let options = [
    Option<"cache", "cache", "int64_t", /*default=*/"::bppsa::cost::kFirstLevelCacheBytes",
           "Bytes of the first-level cache">,
    Option<"ofSamples", "of-samples", "int64_t", /*default=*/"::bppsa::cost::kSecondLevelCacheBytes / 2",
           "Bytes of matrices from which on loops with samples in lanes are cut">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def TransposeCaptures : Pass<"bppsa-transpose-captures", "::mlir::func::FuncOp"> {
  let summary = "make the columns of captured matrices contiguous";
  let description = [{
    In loops packed into one lane a vector holds hidden
    units, and a product `m x` reads columns of `m`. Products in such loops are
    rewritten to use a transposed capture. Captures that nothing uses any more
    are dropped.

    ```mlir
    %h = bppsa.recurrence lanes 1 ... captures(%r : tensor<20x20xf32>) ... {
      %0 = bppsa.matvec %rc, %ht : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
    ```
    becomes
    ```mlir
    %rt = linalg.transpose ins(%r : tensor<20x20xf32>) outs(...) permutation = [1, 0]
    %h = bppsa.recurrence lanes 1 ... captures(%rt : tensor<20x20xf32>) ... {
      %0 = bppsa.matvec transposed %rc, %ht : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def RecomputeSteps : Pass<"bppsa-recompute-steps", "::mlir::ModuleOp"> {
  let summary = "keep the states between segments of steps, and compute the steps again";
  let description = [{
    On packed tensors. A chain reads of each step what its recurrence computed, arrays over all steps.
    With `memory-limit`, those become arrays of a segment of steps (checkpointing: Griewank and
    Walther, "Algorithm 799: revolve", ACM TOMS 26(1), 2000, with one level). The recurrence runs segment by
    segment and keeps the states at the start of each; the results of the last segment are there
    when the chain begins. Before the chain goes back through an earlier segment, the recurrence runs
    on that again. With it go sums of what the chain emits, as running sums
    (`bppsa.add_to_sums`), and recurrences without states that read it. Packed sequences that nothing else reads
    are packed segment by segment.

    `bppsa_rt_recomputed_steps(steps, samples, bytes of a step of one sample, those of its
    states, those of all loops of the function, limit)` says how many steps a segment has when the
    program runs: all where they fit, else whole slabs of 32. Gradients have the bits
    that they have without a limit. Arrays that anything else reads are whole. Sums
    that `bppsa-block-time` leaves apart from their chain stay so, and what they read is whole.

    ```mlir
    %h, %z = bppsa.recurrence lanes 16 sequences(%x : ...) initial(%h0 : ...) ...
    %g, %d = bppsa.chain lanes 16 saved(%z : ...) seeds(%s : ...) ...
    %w = bppsa.step_sum lanes 16 %d batch %b : ...
    ```
    becomes
    ```mlir
    %k = call @bppsa_rt_recomputed_steps(%T, %B, %c160, %c80, %c160, %limit)
    %starts = scf.for %i = %c0 to %last step %c1 iter_args(%s = %s0) -> (tensor<?x?x20x16xf32>) {
      // the recurrence on segment %i, from the state %i of %s, which leaves state %i + 1
    }
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
           "bytes that loops may keep for their chains; 0 for no limit">
  ];
}

def JoinSequences : Pass<"bppsa-join-sequences", "::mlir::func::FuncOp"> {
  let summary = "lays ragged sequences end to end";
  let description = [{
    A recurrence whose states are kept beyond the lengths of its samples, as the
    importer makes one of `sequence_lens`, computes all T steps of all B samples.
    This pass lays the sequences one after the other in rows `[S, R]` and makes the
    loop begin anew where a sequence does, so that its cost is that of the sum of
    lengths, rounded up to rows of equal length and blocks of 16 rows.

    S and R depend on the lengths. Rows are filled when the program runs: the longest
    sequence first, each into the row that has the fewest slots taken. R is B where
    all lengths are equal, and the fewer the more they differ, but one block at least.
    A slot at which a sequence begins, in the order of the loop, has a zero in a
    sequence of the new loop, and the states before it are replaced by the initial
    ones; slots without a sequence have one, too, so that nothing grows there.

    ```mlir
    %h = bppsa.recurrence sequences(%x, %mask : tensor<?x?x8xf32>, tensor<?x?x1xf32>)
        initial(%h0 : tensor<?x4xf32>) captures(...) -> (tensor<?x?x4xf32>) {
      ...
      %next = arith.select %is_part, %cell, %state : vector<4xi1>, vector<4xf32>
      bppsa.yield %next : vector<4xf32>
    }
    ```
    becomes
    ```mlir
    %xr = linalg.generic ... ins(%sequence, %step : ...) // x[step, sequence] or zero
    %keep = linalg.generic ... ins(%sequence, %step : ...) // 1 where a sequence goes on
    %hr = bppsa.recurrence sequences(%xr, %keep : tensor<?x?x8xf32>, tensor<?x?x1xf32>)
        initial(%zeros : tensor<?x4xf32>) captures(...) -> (tensor<?x?x4xf32>) {
      %before = arith.select %goes_on, %state, %cst : vector<4xi1>, vector<4xf32>
      ...
      bppsa.yield %cell : vector<4xf32>
    }
    %h = linalg.generic ... ins(%length, %row, %start, %h0 : ...) // hr[start + step, row]
    ```
    Programs for GPUs, which cannot have sizes that depend on data, keep the masks.
  }];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def DropStepDims : Pass<"bppsa-drop-step-dims", "::mlir::func::FuncOp"> {
  let summary = "drop dimensions of size 1 in front of the samples of equal steps";
  let description = [{
    A layer over time that an exporter writes out keeps the dimension of its steps, of size 1, in
    the state: `[1, B, H]`. `bppsa-roll-up-steps` takes dimension 0 for the samples. The pass drops
    a leading dimension of size 1 of results of rank 3 or more where at least `min-steps` equal
    operations have it, and folds the reshapes between them.

    ```mlir
    %h1 = linalg.generic ... ins(%h0 : tensor<1x?x8xf32>) outs(%e : tensor<1x?x8xf32>)
    ```
    becomes
    ```mlir
    %c = tensor.collapse_shape %h0 [[0, 1], [2]] : tensor<1x?x8xf32> into tensor<?x8xf32>
    %h = linalg.generic ... ins(%c : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>)
    %h1 = tensor.expand_shape %h [[0, 1], [2]] output_shape [1, %b, 8]
        : tensor<?x8xf32> into tensor<1x?x8xf32>
    ```
  }];
  let options = [
    Option<"minSteps", "min-steps", "unsigned", /*default=*/"4",
           "fewest equal operations whose dimension is dropped">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
}

def RollUpSteps : Pass<"bppsa-roll-up-steps", "::mlir::func::FuncOp"> {
  let summary = "make equal steps in straight-line code a recurrence";
  let description = [{
    A cell in a loop of Python is exported as a copy of it for each step. Operations
    that use the same array are candidates for the same place of consecutive steps. The copies
    become one `bppsa.recurrence` in graph form over dimension 0, the samples, if everything they
    follow from is equal from step to step. Steps may read slices of sequences that are equally far
    apart, arrays that all steps share, arrays and constants of their own, and values of the
    step before. Steps without a shared array become a loop if equal operations follow from one
    another and read only slices of sequences.

    What follows from a step and from other slices belongs to it as well. A `tensor.concat` of the
    values of all steps, in order or in reverse order, becomes one array. Slices of a reversed array
    are read from the array itself, by a loop that runs backwards. Steps that are not equal, and
    fewer than `min-steps`, stay as they are. Failed attempts compare a number of operations that is
    linear in the size of the function.

    ```mlir
    %x0 = tensor.extract_slice %x[0, 0] [8, 1] [1, 1] : tensor<8x4xf32> to tensor<8x1xf32>
    %h1 = linalg.generic ... ins(%x0, %h0, %u : tensor<8x1xf32>, tensor<8x1xf32>, tensor<1xf32>)
    %x1 = tensor.extract_slice %x[0, 1] [8, 1] [1, 1] : tensor<8x4xf32> to tensor<8x1xf32>
    %h2 = linalg.generic ... ins(%x1, %h1, %u : tensor<8x1xf32>, tensor<8x1xf32>, tensor<1xf32>)
    ...
    ```
    becomes
    ```mlir
    %h = bppsa.recurrence sequences(%xs : tensor<4x8x1xf32>) initial(%h0 : tensor<8x1xf32>)
        captures(%u : tensor<1xf32>) -> (tensor<5x8x1xf32>) { ... }
    ```

    A remark of the category `roll-up` says how many steps became one loop.
  }];
  let options = [
    Option<"minSteps", "min-steps", "unsigned", /*default=*/"4",
           "fewest steps that become a loop, at least 3">,
    Option<"vectorsOnly", "vectors-only", "bool", /*default=*/"false",
           "leave steps alone that bppsa-vectorize-bodies makes no vectors of">
  ];
  let statistics = [Statistic<"numLoops", "loops", "recurrences that were made">];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def VectorizeBodies : Pass<"bppsa-vectorize-bodies", "::mlir::func::FuncOp"> {
  let summary = "make vectors of the graphs in bodies of recurrences";
  let description = [{
    Gives a `bppsa.recurrence` in graph form a body of vectors where it consists of
    products with captured matrices, of operations on elements and of slices and
    concatenations: what scans, SIMD lanes and GPUs are for. Tensors become the vectors
    of their elements. Products are taken apart where slices of their results are read,
    and where the vector is a concatenation, so that the gates of a cell are products of
    their own. Other bodies stay as they are.

    ```mlir
    ^bb0(%x: tensor<3xf32>, %h: tensor<4xf32>, %w: tensor<8x7xf32>):
      %xh = tensor.concat dim(0) %x, %h : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
      %g = linalg.generic ... ins(%w, %xh : tensor<8x7xf32>, tensor<7xf32>) ...
      %i = tensor.extract_slice %g[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
    ```
    becomes, with `w` cut in four outside of the loop,
    ```mlir
    ^bb0(%x: vector<3xf32>, %h: vector<4xf32>, %wx: vector<4x3xf32>, %wh: vector<4x4xf32>, ...):
      %0 = bppsa.matvec %wx, %x : vector<4x3xf32>, vector<3xf32> -> vector<4xf32>
      %i = bppsa.matvec %wh, %h plus %0 : vector<4xf32> : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
    ```
  }];
  let statistics = [Statistic<"numVectorized", "loops", "recurrences that got vectors">];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_LOOPS_PASSES
