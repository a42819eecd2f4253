//===- Passes.td - CPU kernel passes -----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_CPU_KERNELS_PASSES
#define BPPSA_CODEGEN_CPU_KERNELS_PASSES

include "mlir/Pass/PassBase.td"

def BlockTime : Pass<"bppsa-block-time", "::mlir::func::FuncOp"> {
  let summary = "Group chains with the sums of their sequences";
  let description = [{
    Encloses a chain with samples in lanes, and the subsequent `outer_sum` and `step_sum` operations
    on sequences that it emits or reads, in a scope, on packed memory. `convert-bppsa-to-vector`
    lowers the scope to one loop over blocks of 32 steps, and each block is summed while its emitted
    values are in cache. Memory without other uses moves into the scope and shrinks to the steps of
    a block.

    If the running sums of emitted sequences exceed `max-bytes`, they would be evicted from the
    cache in every block, and all operations are unchanged. Sums of sequences that the chain only
    reads are included only if they fit, too. Example result:
    ```mlir
    memref.alloca_scope {
      %d = memref.alloc(%blocks, %steps) : memref<?x?x20x16xf32>
      bppsa.chain lanes 16 ... into(%g, %d : memref<?x20x16xf32>, memref<?x?x20x16xf32>) ...
      bppsa.outer_sum lanes 16 %d, %x batch %b into %w : ... into memref<20x3xf32>
    }
    ```
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"::bppsa::kMaxRunningSumBytes",
           "maximum bytes of the running sums of a chain, for the samples of one vector">,
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def BlockRows : Pass<"bppsa-block-rows", "::mlir::func::FuncOp"> {
  let summary = "Tile graph operations over blocks of rows";
  let description = [{
    Fuses consecutive operations on the rows of the same arrays, such as the passes of a loss over
    the scores of all steps, into one parallel loop over blocks of rows, on memory. Leading
    dimensions of all arrays, such as time and samples, are counted together as rows. The number of
    rows per block is a multiple of 64, chosen so that the block's parts of all arrays take `bytes`.
    Operations on rows so long that 64 of them exceed this size are unchanged, as are matrix
    products. Arrays without other uses become buffers of one block. Example result:
    ```mlir
    scf.forall (%block) in (%blocks) {
      linalg.generic ["parallel", "reduction"] ins(%rows[%first : %count]) outs(%maxRows[%first : %count]) ...
      linalg.generic ["parallel", "reduction"] ins(%rows[%first : %count], %maxRows[%first : %count]) outs(...) ...
    }
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", /*default=*/"65536",
           "bytes of a block's parts of all arrays, in the caches of a core">,
  ];
  let statistics = [Statistic<"numGroups", "groups", "loops over blocks of rows">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def BlockSteps : Pass<"bppsa-block-steps", "::mlir::func::FuncOp"> {
  let summary = "Tile time loops and layout changes over blocks of time steps";
  let description = [{
    Fuses consecutive recurrences, loops without states, layout changes and graph operations on rows
    into one loop over blocks of steps, on packed memory. Examples are input projections, the layers
    of a stack, and a per-step classifier with its loss. The number of steps per block is a multiple
    of 32, chosen so that the block's parts of all arrays take `bytes`. Arrays without other uses
    become buffers of one block. If a loop runs from the last step to the first, recurrences are
    unchanged, so that both directions can run in parallel. Example result:
    ```mlir
    scf.for %first = %c0 to %steps step %length {
      bppsa.recurrence lanes 16 sequences(%x[%first : %count]) initial(%h[%first]) into(%h[%first : %count + 1]) ...
      bppsa.recurrence lanes 16 sequences(%behind[%first : %count]) into(%y[%first : %count]) ...
    }
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", /*default=*/"::bppsa::cost::kSecondLevelCacheBytes / 2",
           "bytes of a block's parts of all arrays, in the second-level cache">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def JoinEmitted : Pass<"bppsa-join-emitted", "::mlir::func::FuncOp"> {
  let summary = "Merge emitted sequences so that their sums become one";
  let description = [{
    Concatenates emitted sequences of the same type along the rows of one array, if several outer
    sums of them have the same right operand. The chain must have its samples in lanes. These sums
    become one sum over all rows, whose result is copied to the original results. Arrays with other
    writers are not merged, nor are sequences without a sum whose running sums, one per lane, take
    at least `min-bytes`. The pass runs on packed memory after `bppsa-block-time`. Example result:
    ```mlir
    bppsa.outer_sum lanes 16 %both, %x into %vw : ... into memref<128x64xf32>
    memref.copy %vw[0:64], %v
    memref.copy %vw[64:128], %w
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"::bppsa::kMinLargeSumBytes",
           "minimum bytes of running sums for which a sum becomes a matrix product">,
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def BlockChains : Pass<"bppsa-block-chains", "::mlir::func::FuncOp"> {
  let summary = "Tile chains and the large sums of their emitted values over blocks of time steps";
  let description = [{
    Tiles a chain and all sums of its emitted values over blocks of steps, on packed memory after
    `bppsa-join-emitted`. This applies to chains with samples in lanes and an outer sum of at least
    `min-bytes` of running sums, and to chains with hidden units in lanes and outer sums of at least
    256 elements. Large sums become matrix products (`bppsa-lower-large-sums`).

    The number of steps per block is chosen so that the operands of the sums take `bytes`, or twice
    as many with hidden units in lanes. It is at least the number that provides 512 terms of a sum,
    and at most 256. It depends only on the numbers of steps and samples. Arrays without other uses
    become buffers.

    The chain of a block starts from the final cotangents of the previous block. If these are zero
    and nothing is injected, all emitted values are zero and the sums of the block are skipped.
    Functions with chains in both directions are unchanged. Example result:
    ```mlir
    scf.for %done = %c0 to %steps step %length {
      memref.copy %g, %seeds
      bppsa.chain lanes 16 ... seeds(%seeds : ...) ... into(%g, %buffer : ...) ...
      scf.if %isActive {
        linalg.generic ins(%buffer, %h[%first : %count]) outs(%w : memref<384x128xf32>) ...
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"::bppsa::kMinLargeSumBytes",
           "bytes of running sums from which no sum is kept in all lanes">,
    Option<"bytes", "bytes", "int64_t", /*default=*/"::bppsa::cost::kSecondLevelCacheBytes",
           "bytes of the operands of sums in a block, in the second-level cache">,
  ];
  let statistics = [Statistic<"numChains", "chains", "chains that were tiled with their sums">];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def LowerLargeSums : Pass<"bppsa-lower-large-sums", "::mlir::func::FuncOp"> {
  let summary = "Lower large outer sums with samples in lanes to matrix products";
  let description = [{
    Lowers an `outer_sum` with samples in lanes whose running sums, one per lane, take at least
    `min-bytes` to a `linalg.generic` with a packed mapping. Lanes beyond the last sample are
    excluded. Sums that chains accumulate in their loop are unchanged. The pass runs on packed
    memory after `bppsa-block-time`. Example result:
    ```mlir
    linalg.generic {
        indexing_maps = [(i, j, b, t, l) -> (b, t, i, l), (i, j, b, t, l) -> (b, t, j, l),
                         (i, j, b, t, l) -> (i, j)], ...}
        ins(%a, %b : memref<?x?x768x16xf32>, memref<?x?x256x16xf32>)
        outs(%c : memref<768x256xf32>) attrs = {bppsa.mapping = #bppsa.product_mapping<packed_rhs>}
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"::bppsa::kMinLargeSumBytes",
           "bytes of running sums from which no sum is kept in all lanes">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"];
}

def ChooseTaskMapping : Pass<"bppsa-choose-task-mapping", "::mlir::func::FuncOp"> {
  let summary = "Choose the number of samples that a thread processes together";
  let description = [{
    Sets the mapping of time loops with hidden units in lanes whose matrices exceed the first-level
    cache, `cache` bytes. With a `#bppsa.task_mapping` of 4, a thread processes 4 samples together,
    or 4 steps of a loop without states, which share reads of matrices. Existing mappings are kept.
    A remark of the category `mapping` reports each choice. Example result:
    ```mlir
    bppsa.recurrence lanes 1 sequences(%x : memref<?x?x64x1xf32>) ...
        attributes {bppsa.mapping = #bppsa.task_mapping<most = 4>}
    ```
  }];
  let options = [
    Option<"cache", "cache", "int64_t", /*default=*/"::bppsa::cost::kFirstLevelCacheBytes",
           "bytes of the first-level cache">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def OutlineKernels : Pass<"bppsa-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Outline bufferized loops into functions";
  let description = [{
    Moves each bufferized loop into a separate function, a kernel. `duplicate-function-elimination`
    merges equal kernels, so that code is generated once for each. The remaining code of a public
    function does not depend on the instruction set. A public function whose body already is loops
    becomes one kernel. A time loop of graph operations is not outlined; each operation in it
    becomes a kernel. Example result:
    ```mlir
    call @step_sum_kernel_0(%s, %b) : (memref<?x?x20x16xf32>, memref<20xf32>) -> ()
    ```

    Operations of the dialect in a loop, such as those of an expanded scan, become kernels that the
    loop calls. Other loops become kernels as a whole, and so do scopes (`bppsa-block-time`). The
    options change the grouping:

    * `group-sums`: outer sums of one function with the same right factor, and only memory
      operations, views and other sums between them, become one kernel.
    * `group-copies`: copies of static shape with only memory operations and views between them
      become one kernel, if none writes memory that another one accesses.
    * `group-fills`: a fill and the next operation, if it accumulates into the filled array, become
      one kernel.
    * `any-window`: kernels take windows of arrays with any offset, and chains any number of rows,
      so that equal operations on different windows share a kernel.
    * `whole-levels`: a parallel loop of chains, transitions and their products becomes one kernel,
      and so does a loop that applies transitions in order.
  }];
  let options = [
    Option<"groupSums", "group-sums", "bool", "false",
           "outline outer sums with the same right factor as one kernel">,
    Option<"groupCopies", "group-copies", "bool", "false",
           "outline independent copies as one kernel">,
    Option<"groupFills", "group-fills", "bool", "false",
           "outline a fill with the operation that accumulates into it">,
    Option<"anyWindow", "any-window", "bool", "false",
           "let kernels take windows of arrays with any offset">,
    Option<"wholeLevels", "whole-levels", "bool", "false",
           "outline loops of transitions and their products as a whole">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def OverlapTimeLoops : Pass<"bppsa-overlap-time-loops", "::mlir::ModuleOp"> {
  let summary = "Run independent time loops and sums over all steps in parallel";
  let description = [{
    Runs independent time loops in parallel. The pass finds calls of kernels that are time loops,
    such as the two directions of a bidirectional layer, none of which accesses memory that another
    one writes, and makes them iterations of one parallel loop. Operations that depend on the first
    loops move after the last one.

    Loops with fewer than `min-work` multiply-adds per element that they access are unchanged. At
    run time `bppsa_rt_side_by_side(loops, iterations)` decides whether this is faster than running
    the loops one after another on all threads; `iterations` is the number of iterations of the
    first loop.

    With `sums`, sums over all steps between two time loops, such as the gradients of a layer's
    gates, are combined in the same manner, so threads synchronize once instead of once per sum.
    Example result:
    ```mlir
    %parallel = call @bppsa_rt_side_by_side(%c2, %rows) : (index, index) -> index
    scf.if %is {
      scf.parallel (%i) = (%c0) to (%c2) step (%c1) { ... }
    } else {
      call @forward(%x, %a) ...
      call @backward(%x, %b) ...
    }
    ```
  }];
  let options = [
    Option<"minWork", "min-work", "int64_t", /*default=*/"16",
           "minimum multiply-adds of a loop per element that it reads or writes">,
    Option<"sums", "sums", "bool", /*default=*/"true",
           "also run sums between two time loops in parallel">,
  ];
  let statistics = [Statistic<"numGroups", "groups", "groups that run in parallel">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MergeDirections : Pass<"bppsa-merge-directions", "::mlir::ModuleOp"> {
  let summary = "Merge kernels that differ only in the direction of time";
  let description = [{
    Merges pairs of kernels that are equal except for `reverse`. The two directions of a
    bidirectional layer have such kernels, which otherwise are half of a program's code. The first
    kernel gets a `bppsa.reverse_if` and an argument that is true if a call needs the direction of
    the second kernel. Kernels are private functions that are only called. Example result:
    ```mlir
    call @forward(%x, %h0, %b, %true) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>, i1) -> ()
    ```
  }];
  let statistics = [Statistic<"numMerged", "merged", "kernels that were merged into another one">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // BPPSA_CODEGEN_CPU_KERNELS_PASSES
