//===- Passes.td - Dialect/BPPSA/Transforms passes ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ExpandScan : Pass<"bppsa-expand-scan"> {
  let summary = "writes the operations of scan plans";
  let description = [{
    Replaces each `bppsa.chain` with a plan by the operations of the plan, in loops
    over levels and chunks. These are what runs: lowerings know chains step by step
    and the products below, and no trees.

    With `chunked:C`, of every chunk but the last the affine transition is made
    (`bppsa.transition`, in parallel), the cotangent is carried across chunks
    (`bppsa.apply_transition`, in order), and every chunk is a chain from what enters
    it (in parallel). With `blelloch` and `hybrid:L` the leaves are transitions of one
    step, the levels up are `bppsa.compose_transitions`, those down
    `bppsa.apply_transition`, and what the link emits is computed for all steps at once
    by a `bppsa.recurrence` without states. The order is that of ScanOrder.h. Packed
    rows are taken in parallel with chunks; trees take one block of them after the
    other, so that the matrices of one are all that memory holds.

    With `factor-links` the leaves of a tree are `bppsa.factored_transition` where the
    Jacobian of the link is a sum of scaled matrices, as those of recurrent layers are:
    a recurrence without states computes the scales of all steps first.

    The chain
    ```mlir
    %0 = bppsa.chain plan <chunked, 8> saved(%a : tensor<?x?x4xf32>)
        seeds(%g : tensor<?x4xf32>) inject_into [] -> (tensor<?x4xf32>) { ... }
    ```
    becomes, in short,
    ```mlir
    %m = scf.forall (%k) in (%last) shared_outs(%o = %transitions) {
      %a_k = tensor.extract_slice %a[...] : tensor<?x?x4xf32> to tensor<8x?x4xf32>
      %m_k = bppsa.transition states [4] saved(%a_k : tensor<8x?x4xf32>) inject_into [] into(...) { ... }
      ...
    }
    %c = scf.for %k = %c0 to %last step %c1 iter_args(%i = %seeded) {
      %c_k = bppsa.apply_transition %m_k, %i_k into ...
      ...
    }
    %r = scf.forall (%k) in (%chunks) shared_outs(%o = %ends) {
      %r_k = bppsa.chain saved(%a_k : tensor<?x?x4xf32>) seeds(%c_k : tensor<?x4xf32>)
          inject_into [] into(...) { ... }
      ...
    }
    ```

    A scan over at most `unroll-up-to` steps, a number that its type has, is written
    as straight-line code of explicit Jacobians instead, for looking at trees: one
    `bppsa.linearize` for each step whose Jacobian is read, `bppsa.compose` for
    products of two of them and `bppsa.apply` for products of one with a cotangent. A
    Jacobian has the structure that the link gives it, and a product what the product
    table makes of those of its factors: products of diagonals are diagonals.
    Cotangents that are injected at a step travel as the offset of an affine pair: the
    pair `(J, s)` maps `g` to `J g + s`, where `s` is what is injected at the next step.

    Chains that are sequential stay as they are. A remark of the category `scan` says
    what was expanded.
  }];
  let options = [
    Option<"unrollUpTo", "unroll-up-to", "int64_t", /*default=*/"0",
           "most steps of a scan that becomes straight-line code; 0 for none">,
    Option<"factorLinks", "factor-links", "bool", /*default=*/"false",
           "make matrices of single links of their factors, where these are known">
  ];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def RollUpSteps : Pass<"bppsa-roll-up-steps", "::mlir::func::FuncOp"> {
  let summary = "make equal steps in straight-line code a recurrence";
  let description = [{
    A cell in a loop of Python is exported as a copy of it for each step. Operations
    that use the same array are taken for the same place of consecutive steps; where all
    that they follow from is equal from step to step, down to slices of sequences that
    lie equally far apart, to what all steps share and to values of the step before, the
    copies become one `bppsa.recurrence` in graph form over dimension 0, that of samples.
    What a step makes of its own values alone belongs to it as well, and a `tensor.concat`
    of the values of all steps becomes one array. Steps that are not equal, and fewer than
    `min-steps`, stay as they are.

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
           "fewest steps that become a loop, at least 3">
  ];
  let statistics = [Statistic<"numLoops", "loops", "recurrences that were made">];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def Scan : Pass<"bppsa-scan", "::mlir::ModuleOp"> {
  let summary = "gives cotangent chains a parallel association order";
  let description = [{
    Gives every `bppsa.chain`, or every one in the function `function`, the plan
    `algorithm` (Wang, Bai, Pekhimenko: BPPSA, MLSys 2020). Only the association
    of floating-point products changes, so gradients are those of the sequential
    chain up to rounding. `auto` ends here: it becomes `chunked`, with chunks of a
    length that the run time chooses.

    A remark of the category `scan` says for each chain what was scanned, with
    how many products and at what depth, or why it stays sequential.

    With `algorithm=chunked:32`, the chain
    ```mlir
    %0 = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
        inject_into [] -> (tensor<?x4xf32>) { ... }
    ```
    becomes
    ```mlir
    %0 = bppsa.chain plan <chunked, 32> saved(%a : tensor<?x?x4xf32>)
        seeds(%g : tensor<?x4xf32>) inject_into [] -> (tensor<?x4xf32>) { ... }
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", /*default=*/"\"auto\"",
           "auto, linear, blelloch, hybrid:L, chunked or chunked:C">,
    Option<"function", "function", "std::string", /*default=*/"\"\"",
           "name of the only function to rewrite; empty for all">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
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

def OutlineKernels : Pass<"bppsa-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "move each bufferized loop into a function of its own";
  let description = [{
    The functions of a program share most of their loops. Outlined loops that
    are equal can be merged by `duplicate-function-elimination`, so that code is
    generated for each once. A public function whose body is loops already
    becomes a kernel whole; a loop over time of graph operations stays, and each of
    them is a kernel. What is left of a public function allocates memory
    and calls kernels: code that does not depend on the instruction set.

    ```mlir
    bppsa.step_sum lanes 16 %s into %b : memref<20xf32> : memref<?x?x20x16xf32>
    ```
    becomes
    ```mlir
    call @step_sum_kernel_0(%s, %b) : (memref<?x?x20x16xf32>, memref<20xf32>) -> ()
    ```

    With `group-sums`, outer sums of one function that have the same right factor and
    nothing but memory, views and other sums between them become one kernel, so that
    they can be launched together. What is freed between them is freed behind them.

    With `group-fills`, what fills memory is one kernel with the operation after it that
    accumulates there. With `any-window`, kernels take windows of arrays wherever they
    begin, and chains any number of rows: those of the same form have one kernel.
    Operations of the dialect in a loop, such as those of an expanded scan, are kernels
    that the loop calls; other loops are kernels whole.
  }];
  let options = [
    Option<"groupSums", "group-sums", "bool", "false",
           "outer sums with the same right factor are one kernel">,
    Option<"groupFills", "group-fills", "bool", "false",
           "a fill is one kernel with the operation that accumulates into it">,
    Option<"anyWindow", "any-window", "bool", "false",
           "kernels take windows of arrays wherever they begin">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def FoldCoveredFills : Pass<"bppsa-fold-covered-fills", "::mlir::func::FuncOp"> {
  let summary = "leaves out fills that are written over";
  let description = [{
    A tensor into which slices are inserted one after the other need not be filled
    before where the slices are disjoint and cover all of it, such as the gradients of
    gates that make up that of a matrix.

    ```mlir
    %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    %1 = tensor.insert_slice %a into %0[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
    %2 = tensor.insert_slice %b into %1[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
    ```
    becomes
    ```mlir
    %1 = tensor.insert_slice %a into %empty[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
    %2 = tensor.insert_slice %b into %1[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
    ```
  }];
}

def SinkReads : Pass<"bppsa-sink-reads", "::mlir::func::FuncOp"> {
  let summary = "moves reads of arguments into the graph operations that need them";
  let description = [{
    A number that a function reads from an argument that nothing writes, such as the
    seed of dropouts, and what is computed of it, is computed anew in each graph
    operation that uses it. Then the function itself reads no elements, which on a
    GPU it could not.

    ```mlir
    %0 = memref.load %seed[] : memref<i64>
    linalg.generic ... { ... arith.addi %i, %0 : i64 ... }
    ```
    becomes
    ```mlir
    linalg.generic ... { %0 = memref.load %seed[] : memref<i64>  ... arith.addi %i, %0 : i64 ... }
    ```
  }];
}

def CopyFunctions : Pass<"bppsa-copy-functions", "::mlir::ModuleOp"> {
  let summary = "copy functions under other names";
  let description = [{
    For each of `functions` that exists the pass adds a copy, called as the entry of
    `names` at the same place says. The copies follow the last of the functions, in
    order. What is done to a function before it is copied is done once.

    ```mlir
    func.func @step_sequential(...)
    ```
    gets behind it, with `functions=step_sequential names=step_scan`,
    ```mlir
    func.func @step_scan(...)
    ```
  }];
  let options = [
    ListOption<"functions", "functions", "std::string", "Names of the functions to copy">,
    ListOption<"names", "names", "std::string", "Names of the copies">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def SeparateDestinations : Pass<"bppsa-separate-destinations", "::mlir::func::FuncOp"> {
  let summary = "give each operation a destination of its own";
  let description = [{
    Operations that write into the same `tensor.empty` or `linalg.fill` are possible
    conflicts of each other, and what bufferization spends on them grows with the cube of
    their number. The pass gives each of them a copy, in front of it. An empty tensor that
    is written in slices stays one.

    ```mlir
    %empty = tensor.empty() : tensor<8xf32>
    %a = linalg.exp ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
    %b = linalg.log ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
    ```
    becomes
    ```mlir
    %empty = tensor.empty() : tensor<8xf32>
    %a = linalg.exp ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
    %other = tensor.empty() : tensor<8xf32>
    %b = linalg.log ins(%x : tensor<8xf32>) outs(%other : tensor<8xf32>) -> tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AddUnitVariants : Pass<"bppsa-add-unit-variants", "::mlir::ModuleOp"> {
  let summary = "copy functions for a mapping of vectors to hidden units";
  let description = [{
    Lanes that hold samples are mostly idle in a small batch. For each of
    `functions` that exists the pass adds a copy with the suffix `_units`, whose
    attribute `bppsa.lanes = 1` tells later passes to fill vectors with hidden
    units of one sample.

    ```mlir
    func.func @forward(...)
    ```
    gets beside it
    ```mlir
    func.func @forward_units(...) attributes {bppsa.lanes = 1 : i64}
    ```
  }];
  let options = [
    ListOption<"functions", "functions", "std::string", "Names of the functions to copy">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def TransposeCaptures : Pass<"bppsa-transpose-captures", "::mlir::func::FuncOp"> {
  let summary = "make the columns of captured matrices contiguous";
  let description = [{
    In functions with the attribute `bppsa.lanes = 1` a vector holds hidden
    units, and a product `m x` reads columns of `m`. Products in time loops are
    rewritten to use a transposed capture. Captures that nothing uses any more
    are dropped.

    ```mlir
    %h = bppsa.recurrence ... captures(%r : tensor<20x20xf32>) ... {
      %0 = bppsa.matvec %rc, %ht : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
    ```
    becomes
    ```mlir
    %rt = linalg.transpose ins(%r : tensor<20x20xf32>) outs(...) permutation = [1, 0]
    %h = bppsa.recurrence ... captures(%rt : tensor<20x20xf32>) ... {
      %0 = bppsa.matvec transposed %rc, %ht : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def PackBatch : Pass<"bppsa-pack-batch", "::mlir::func::FuncOp"> {
  let summary = "group the samples of a batch into SIMD lanes";
  let description = [{
    Time loops and their leaves work on packed arrays, with `pack_lanes` and
    `unpack_lanes` where other operations produce or use them. Pairs of these
    cancel, also around slices along time.

    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x1xf32>) ... -> (tensor<?x?x20xf32>)
    ```
    becomes
    ```mlir
    %p = bppsa.pack_lanes 16, %x : tensor<?x?x1xf32> -> tensor<?x?x1x16xf32>
    %q = bppsa.recurrence lanes 16 sequences(%p : tensor<?x?x1x16xf32>) ...
        -> (tensor<?x?x20x16xf32>)
    %h = bppsa.unpack_lanes 16, %q, %batch : tensor<?x?x20x16xf32> -> tensor<?x?x20xf32>
    ```
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", /*default=*/"16",
           "Samples in one vector; a function's attribute `bppsa.lanes` goes before it">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def PassResultsByArgument : Pass<"bppsa-pass-results-by-argument", "::mlir::ModuleOp"> {
  let summary = "lets callers give functions memory for their results";
  let description = [{
    Each tensor result of a function becomes a memref argument after the others, into
    which it is materialized. Before the elimination of empty tensors this lets
    operations write results where they belong.

    ```mlir
    func.func @f(...) -> tensor<4xf32> {
      ...
      return %y : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(..., %m: memref<4xf32>) {
      ...
      bufferization.materialize_in_destination %y in restrict writable %m : (tensor<4xf32>, memref<4xf32>) -> ()
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"
  ];
}

def Bufferize : Pass<"bppsa-bufferize", "::mlir::ModuleOp"> {
  let summary = "turn tensors into memory";
  let description = [{
    One-shot bufferization of the whole module. A tensor argument of a function
    becomes a memref with the identity layout that is only read; tensor results
    are passed as `bppsa-pass-results-by-argument` does it. Temporary
    memory is freed after its last use. Every defined function asks for a C
    interface, which takes pointers to memref descriptors.

    ```mlir
    func.func @f(%x: tensor<?xf32>) -> tensor<?xf32>
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) attributes {llvm.emit_c_interface}
    ```
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"
  ];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_PASSES
