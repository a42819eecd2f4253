//===- Passes.td - passes: kernels --------------------- -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_CPU_KERNELS_PASSES
#define BPPSA_CODEGEN_CPU_KERNELS_PASSES

include "mlir/Pass/PassBase.td"

def BlockTime : Pass<"bppsa-block-time", "::mlir::func::FuncOp"> {
  let summary = "puts chains together with the sums of what they emit or read";
  let description = [{
    On packed memory. A chain over samples in lanes and the `outer_sum` and `step_sum` operations
    behind it that read what it emits, or a sequence that it reads, get a scope of their own, which becomes one kernel:
    `convert-bppsa-to-vector` makes it one loop over blocks of 32 steps, each of which is
    summed while what the chain has emitted is in a cache. Memory that nothing else uses goes into
    the scope, and shrinks to the steps of a block there.

    Sums are kept in all lanes until the last block. Where those of a chain take more than
    `max-bytes` they would leave the cache for every block; all operations stay where they are. Sums of
    what it reads alone are left out where they do not fit beside the others.

    ```mlir
    bppsa.chain lanes 16 ... into(%g, %d : memref<?x20x16xf32>, memref<?x?x20x16xf32>) ...
    bppsa.outer_sum lanes 16 %d, %x batch %b into %w : memref<20x3xf32> : ...
    memref.dealloc %d : memref<?x?x20x16xf32>
    ```
    becomes
    ```mlir
    memref.alloca_scope {
      %d = memref.alloc(%blocks, %steps) : memref<?x?x20x16xf32>
      bppsa.chain lanes 16 ... into(%g, %d : memref<?x20x16xf32>, memref<?x?x20x16xf32>) ...
      bppsa.outer_sum lanes 16 %d, %x batch %b into %w : memref<20x3xf32> : ...
      memref.dealloc %d : memref<?x?x20x16xf32>
    }
    ```
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"::bppsa::kMaxRunningSumBytes",
           "Most running sums of one chain and the samples of one vector">,
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def BlockRows : Pass<"bppsa-block-rows", "::mlir::func::FuncOp"> {
  let summary = "runs graph operations on rows block by block";
  let description = [{
    On memory. Operations behind each other that do something on each row of the same arrays, such
    as the passes of a loss through the scores of all steps, become the body of one parallel loop
    over blocks of rows. Leading dimensions of all arrays, such as time and samples, count rows
    together. A block has as many rows, a multiple of 64, as take `bytes`, and rows that 64 of
    would take more are not short: their operations stay as they are, and so do matrix products.
    Arrays that nobody else uses become buffers of one block.

    ```mlir
    linalg.generic ["parallel", "parallel", "reduction"] ins(%scores : memref<?x?x10xf32>) outs(%most : memref<?x?xf32>) ...
    linalg.generic ["parallel", "parallel", "reduction"] ins(%scores, %most : ...) outs(%sum : memref<?x?xf32>) ...
    ```
    becomes
    ```mlir
    %rows = memref.collapse_shape %scores [[0, 1], [2]]
    ...
    scf.forall (%block) in (%blocks) {
      linalg.generic ["parallel", "reduction"] ins(%rows[%first : %count]) outs(%maxRows[%first : %count]) ...
      linalg.generic ["parallel", "reduction"] ins(%rows[%first : %count], %maxRows[%first : %count]) outs(...) ...
    }
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", /*default=*/"65536",
           "What blocks of all arrays take of the caches of a core">,
  ];
  let statistics = [Statistic<"numGroups", "groups", "loops over blocks of rows">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def BlockSteps : Pass<"bppsa-block-steps", "::mlir::func::FuncOp"> {
  let summary = "runs loops over time and changes of layout block by block of steps";
  let description = [{
    On packed memory. Recurrences, loops without states, changes of layout and graph operations on
    rows that stand behind each other, such as products of inputs, the layers of a stack, a
    classifier of every step and its loss, become the body of one loop over blocks of steps, in which each reads from a cache what the one before
    has written. A block has as many steps, a multiple of 32, as its parts of all arrays take
    `bytes`. Arrays that nobody else uses become buffers of one block; a recurrence goes on from the
    slot of its trajectory that the block before has written last. Where a loop goes from the last
    step to the first, recurrences stay what they are, so that directions run side by side.

    ```mlir
    bppsa.recurrence lanes 16 sequences(%x : ...) initial(%h0 : ...) into(%h : memref<?x?x20x16xf32>) ...
    %behind = memref.subview %h[0, 1, 0, 0] [%blocks, %steps, 20, 16] ...
    bppsa.recurrence lanes 16 sequences(%behind : ...) into(%y : memref<?x?x10x16xf32>) ...
    ```
    becomes
    ```mlir
    memref.copy %h0, %h[0, 0, 0, 0] [%blocks, 1, 20, 16]
    scf.for %first = %c0 to %steps step %length {
      bppsa.recurrence lanes 16 sequences(%x[%first : %count]) initial(%h[%first]) into(%h[%first : %count + 1]) ...
      bppsa.recurrence lanes 16 sequences(%behind[%first : %count]) into(%y[%first : %count]) ...
    }
    ```
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", /*default=*/"::bppsa::cost::kSecondLevelCacheBytes / 2",
           "What blocks of all arrays take of the second-level cache">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def JoinEmitted : Pass<"bppsa-join-emitted", "::mlir::func::FuncOp"> {
  let summary = "puts arrays that a chain emits side by side, so that sums of them are one";
  let description = [{
    On packed memory, behind `bppsa-block-time`. Arrays of one type that a chain over samples in lanes
    emits for outer sums become rows of one array, where several of these sums have the same right
    operand. Such sums become one, of all of their rows, whose result is copied to where theirs
    were: as a matrix product (`bppsa-lower-large-sums`) it copies the right operand once. Arrays
    that others write stay, and so do those of which no sum takes `min-bytes` of running sums, one
    for each lane.

    ```mlir
    bppsa.chain lanes 16 ... into(%g, %d, %e : memref<?x64x16xf32>, memref<?x?x64x16xf32>, memref<?x?x64x16xf32>)
    bppsa.outer_sum lanes 16 %d, %x into %v : memref<64x64xf32> : ...
    bppsa.outer_sum lanes 16 %e, %x into %w : memref<64x64xf32> : ...
    ```
    becomes
    ```mlir
    %d = memref.subview %both[0, 0, 0, 0] [%b, %t, 64, 16] [1, 1, 1, 1] : memref<?x?x128x16xf32> to ...
    %e = memref.subview %both[0, 0, 64, 0] [%b, %t, 64, 16] [1, 1, 1, 1] : memref<?x?x128x16xf32> to ...
    bppsa.chain lanes 16 ... into(%g, %d, %e : ...)
    bppsa.outer_sum lanes 16 %both, %x into %vw : memref<128x64xf32> : ...
    memref.copy %vw[0:64], %v
    memref.copy %vw[64:128], %w
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"::bppsa::kMinLargeSumBytes",
           "Running sums of a sum from which on it is a matrix product">,
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def BlockChains : Pass<"bppsa-block-chains", "::mlir::func::FuncOp"> {
  let summary = "runs chains and the large sums of what they emit block by block of steps";
  let description = [{
    On packed memory, behind `bppsa-join-emitted`. A chain over samples in lanes that emits what an
    outer sum of `min-bytes` of running sums reads, or one over units with outer sums of 256
    elements and more, becomes the body of a loop over blocks of steps, with all sums of what it
    emits behind it: large ones as products (`bppsa-lower-large-sums`) that go on from those of the
    block before, others by themselves, added to what was. A block has as many steps, up to 256, as what
    sums read of them takes `bytes`, over units twice as many, or as make 512 terms of a sum; the
    blocks depend on the numbers of steps and samples alone. Up to twice as many steps are one block. Arrays that nobody
    else uses become buffers.

    The chain of a block starts from the cotangents that the one before has ended with. Where these
    are zero and nothing is injected, nothing that is emitted differs from zero, and the block has no
    sums. Functions with chains in both directions stay as they are: these run side by side.

    ```mlir
    bppsa.chain lanes 16 ... seeds(%s : ...) ... into(%g, %d : memref<?x128x16xf32>, memref<?x?x384x16xf32>) ...
    bppsa.outer_sum lanes 16 %d, %h into %w : memref<384x128xf32> : ...
    ```
    becomes
    ```mlir
    scf.if %areFew {
      ... as before
    } else {
      memref.copy %s, %g
      linalg.fill ins(%zero : f32) outs(%w : memref<384x128xf32>)
      scf.for %done = %c0 to %steps step %length {
        memref.copy %g, %seeds
        bppsa.chain lanes 16 ... seeds(%seeds : ...) ... into(%g, %buffer : ...) ...
        scf.if %isActive {
          linalg.generic ins(%buffer, %h[%first : %count]) outs(%w : memref<384x128xf32>) ...
        }
      }
    }
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"::bppsa::kMinLargeSumBytes",
           "Running sums from which on none are kept in all lanes">,
    Option<"bytes", "bytes", "int64_t", /*default=*/"::bppsa::cost::kSecondLevelCacheBytes",
           "What sums read of a block, in the second-level cache">,
  ];
  let statistics = [Statistic<"numChains", "chains", "chains in blocks with their sums">];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def LowerLargeSums : Pass<"bppsa-lower-large-sums", "::mlir::func::FuncOp"> {
  let summary = "makes large outer sums over samples in lanes matrix products";
  let description = [{
    On packed memory, behind `bppsa-block-time`. An `outer_sum` with samples in lanes whose running
    sums, one for each lane, take `min-bytes` or more becomes a `linalg.generic` with a packed
    mapping, whose terms are the batch blocks, the steps and the lanes. Lanes beyond the last sample
    are left out: the last block of a `batch` that is no multiple of the lanes is a product of its
    own. Sums that chains make on their way stay what they are.

    ```mlir
    bppsa.outer_sum lanes 16 %a, %b into %c : memref<768x256xf32>
        : memref<?x?x768x16xf32>, memref<?x?x256x16xf32>
    ```
    becomes
    ```mlir
    linalg.fill ins(%zero : f32) outs(%c : memref<768x256xf32>)
    linalg.generic {
        indexing_maps = [(i, j, b, t, l) -> (b, t, i, l), (i, j, b, t, l) -> (b, t, j, l),
                         (i, j, b, t, l) -> (i, j)], ...}
        ins(%a, %b : memref<?x?x768x16xf32>, memref<?x?x256x16xf32>)
        outs(%c : memref<768x256xf32>) attrs = {bppsa.mapping = #bppsa.product_mapping<packed_rhs>}
    ```
  }];
  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"::bppsa::kMinLargeSumBytes",
           "Running sums from which on none are kept in all lanes">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"];
}

def ChooseTaskMapping : Pass<"bppsa-choose-task-mapping", "::mlir::func::FuncOp"> {
  let summary = "chooses how many samples of a time loop a thread takes together";
  let description = [{
    Where vectors hold units, each step of each sample reads all matrices of the body. The pass gives
    loops whose matrices leave the first-level cache, as they take more than `cache` bytes, a
    `#bppsa.task_mapping` of 4 samples, or 4 steps of loops without states, which share what is read.
    What is there stays. A remark of the category `mapping` says what was chosen.

    ```mlir
    bppsa.recurrence lanes 1 sequences(%x : memref<?x?x64x1xf32>) ...
    ```
    becomes
    ```mlir
    bppsa.recurrence lanes 1 sequences(%x : memref<?x?x64x1xf32>) ...
        attributes {bppsa.mapping = #bppsa.task_mapping<most = 4>}
    ```
  }];
  let options = [
    Option<"cache", "cache", "int64_t", /*default=*/"::bppsa::cost::kFirstLevelCacheBytes",
           "Bytes of the first-level cache">,
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
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

    With `group-copies`, copies of static shapes with nothing but memory and views between them, none
    of which writes what another one reads or writes, become one kernel.

    With `group-fills`, what fills memory is one kernel with the operation after it that
    accumulates there. With `any-window`, kernels take windows of arrays wherever they
    begin, and chains any number of rows: those of the same form have one kernel.
    Operations of the dialect in a loop, such as those of an expanded scan, are kernels
    that the loop calls; other loops are kernels whole, and so are scopes (`bppsa-block-time`). With `whole-levels` a parallel
    loop of chains, transitions and their products is a kernel, and so is a loop that
    applies transitions in order.
  }];
  let options = [
    Option<"groupSums", "group-sums", "bool", "false",
           "outer sums with the same right factor are one kernel">,
    Option<"groupCopies", "group-copies", "bool", "false",
           "copies that can be made at the same time are one kernel">,
    Option<"groupFills", "group-fills", "bool", "false",
           "a fill is one kernel with the operation that accumulates into it">,
    Option<"anyWindow", "any-window", "bool", "false",
           "kernels take windows of arrays wherever they begin">,
    Option<"wholeLevels", "whole-levels", "bool", "false",
           "loops of transitions and their products are kernels whole">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def OverlapTimeLoops : Pass<"bppsa-overlap-time-loops", "::mlir::ModuleOp"> {
  let summary = "runs time loops, and sums over all steps, that need nothing of each other side by side";
  let description = [{
    A time loop has parallel iterations for blocks of samples, often fewer than there are
    threads. The pass finds calls of kernels that are time loops, such as the directions of a
    bidirectional layer, of which none reads or writes what another one writes. What needs
    the first ones moves behind the last, and all become the iterations of a parallel loop.
    Where cores exchange what they have written, that takes longer than a little work: loops with fewer
    than `min-work` multiply-adds for each number that they read or write stay as they are.
    `bppsa_rt_side_by_side(loops, iterations)` of the run time says whether that is sooner done than
    one loop after the other, each on all threads; `iterations` are those of the first loop.

    Sums over all steps that stand between two time loops, such as the gradients of the gates of a
    layer, become the iterations of one parallel loop in the same way: threads meet once and not
    for each of them. They are in an order in which neighbours have about as much to do as others.

    ```mlir
    call @forward(%x, %a) : (memref<?x?x8xf32>, memref<?x8xf32>) -> ()
    call @backward(%x, %b) : (memref<?x?x8xf32>, memref<?x8xf32>) -> ()
    ```
    becomes
    ```mlir
    %parallel = call @bppsa_rt_side_by_side(%c2, %rows) : (index, index) -> index
    %is = arith.cmpi ne, %parallel, %c0 : index
    scf.if %is {
      scf.parallel (%i) = (%c0) to (%c2) step (%c1) {
        scf.index_switch %i
        case 0 { call @forward(%x, %a) ... }
        default { call @backward(%x, %b) ... }
      }
    } else {
      call @forward(%x, %a) ...
      call @backward(%x, %b) ...
    }
    ```
  }];
  let options = [
    Option<"minWork", "min-work", "int64_t", /*default=*/"16",
           "Fewest multiply-adds of a loop for each number that it reads or writes">,
    Option<"sums", "sums", "bool", /*default=*/"true",
           "Whether sums between two time loops run side by side, too">,
  ];
  let statistics = [Statistic<"numGroups", "groups", "groups of time loops or of sums">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def MergeDirections : Pass<"bppsa-merge-directions", "::mlir::ModuleOp"> {
  let summary = "makes kernels that differ in the direction of time alone one";
  let description = [{
    The two directions of a bidirectional layer have kernels that are equal but for `reverse`, and
    which make half of the code of a program. The pass gives the first of two such kernels an
    argument, which is true where a call wants the direction of the other one, and
    `bppsa.reverse_if`. Kernels are private functions that are only called.

    ```mlir
    call @forward(%x, %h0, %a) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>) -> ()
    call @backward(%x, %h0, %b) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>) -> ()
    ```
    becomes
    ```mlir
    %false = arith.constant false
    call @forward(%x, %h0, %a, %false) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>, i1) -> ()
    %true = arith.constant true
    call @forward(%x, %h0, %b, %true) : (memref<?x?x4x16xf32>, memref<?x4x16xf32>, memref<?x?x4x16xf32>, i1) -> ()
    ```
  }];
  let statistics = [Statistic<"numMerged", "merged", "kernels that became another one">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // BPPSA_CODEGEN_CPU_KERNELS_PASSES
