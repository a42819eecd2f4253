//===- Passes.td - passes: buffers and kernels ----------- -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES

include "mlir/Pass/PassBase.td"

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

def BlockTime : Pass<"bppsa-block-time", "::mlir::func::FuncOp"> {
  let summary = "puts chains together with the sums of what they emit";
  let description = [{
    On packed memory. A chain over samples in lanes and the `outer_sum` and `step_sum` operations
    behind it that read what it emits get a scope of their own, which becomes one kernel:
    `convert-bppsa-to-vector` makes it one loop over blocks of 32 steps, each of which is
    summed while what the chain has emitted is in a cache. Memory that nothing else uses goes into
    the scope, and shrinks to the steps of a block there.

    Sums are kept in all lanes until the last block. Where those of a chain take more than
    `most-bytes` they would leave the cache for every block; all operations stay where they are.

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
    Option<"mostBytes", "most-bytes", "int64_t", /*default=*/"524288",
           "Most running sums of one chain and the samples of one vector">,
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
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
    Option<"cache", "cache", "int64_t", /*default=*/"32768", "Bytes of the first-level cache">,
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
    Option<"groupFills", "group-fills", "bool", "false",
           "a fill is one kernel with the operation that accumulates into it">,
    Option<"anyWindow", "any-window", "bool", "false",
           "kernels take windows of arrays wherever they begin">,
    Option<"wholeLevels", "whole-levels", "bool", "false",
           "loops of transitions and their products are kernels whole">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def PlanArena : Pass<"bppsa-plan-arena", "::mlir::ModuleOp"> {
  let summary = "gives the temporaries of host functions places in one block of memory";
  let description = [{
    A function of a GPU program computes sizes, allocates and launches. This pass plans
    where its temporaries are, so that the run time has one block for them, the arena,
    whose size it knows before the call. Private functions that allocate are inlined first.

    For each public function `@f` whose allocations have sizes that follow from the symbols of
    the model (the module's `bppsa.symbols`, bound by `bppsa.shape` of the arguments), a function
    `@f_arena` of the values of all symbols, in order, returns the offsets of the slots of the arena
    and, as its last result, the arena's size in bytes. Allocations share a slot when one is freed
    before the other is made. A slot has the size of the largest one in it, whatever the symbols
    are; slots begin at multiples of 256 bytes.

    ```mlir
    func.func @f(%x: memref<?x4xf32> {bppsa.shape = affine_map<()[s0] -> (s0, 4)>}) {
      %n = memref.dim %x, %c0 : memref<?x4xf32>
      %a = memref.alloc(%n) : memref<?xf32>
      ...
      memref.dealloc %a : memref<?xf32>
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<?x4xf32> {bppsa.shape = affine_map<()[s0] -> (s0, 4)>}) {
      %n = memref.dim %x, %c0 : memref<?x4xf32>
      %plan:2 = call @f_arena(%n) : (index) -> (index, index)
      %bytes = arith.muli %n, %c4 : index
      %slice = call @bppsa_rt_arena_take(%plan#0, %bytes) : (index, index) -> memref<?xi8>
      %a = memref.view %slice[%c0][%n] : memref<?xi8> to memref<?xf32>
      ...
      call @bppsa_rt_arena_drop(%slice) : (memref<?xi8>) -> ()
    ```
    Launches are executed in order, so that the memory may be used by the next one as soon as
    the last one that needs it was launched. Allocations whose size depends on more than
    the symbols stay.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def SeparateBackward : Pass<"bppsa-separate-backward", "::mlir::ModuleOp"> {
  let summary = "cuts functions of outputs and gradients into a forward and a backward part";
  let description = [{
    On memory. A public function that writes outputs (`bppsa.output`) and gradients
    (`bppsa.gradient`) and no loss is cut at the mark of its backward part. `@f_forward` writes
    the outputs, and into `%residuals` what `@f_backward` reads of it: arrays, the numbers that it
    read from memory, nothing that the backward part can compute of its arguments' sizes. The
    backward part changes none of that, so that it can run several times.
    `@f_backward_parameters` is the same without gradients of inputs and what is computed for
    nothing else. `@f_residuals` gives
    the bytes of `%residuals` for values of all symbols of the model, in order; an upper bound
    where sizes depend on the values of inputs. There the forward part tells the run time how many
    it has taken (`bppsa_rt_residuals`).

    With `clear-unwritten` the forward part writes each of these bytes, which then are a function of
    its arguments: zeros between the arrays, which begin at multiples of 64 bytes, and into arrays
    that it may write only in part.

    ```mlir
    func.func @f(%x: memref<?xf32> {bppsa.input = "x"}, %g: memref<?xf32> {bppsa.target},
                 %y: memref<?xf32> {bppsa.output = "y"}, %d: memref<?xf32> {bppsa.gradient = "x"}) {
      %a = memref.alloc(%n) : memref<?xf32>
      linalg.exp ins(%x : memref<?xf32>) outs(%a : memref<?xf32>)
      memref.copy %a, %y : memref<?xf32> to memref<?xf32>
      bppsa.mark_phase 1
      linalg.mul ins(%g, %a : memref<?xf32>, memref<?xf32>) outs(%d : memref<?xf32>)
      memref.dealloc %a : memref<?xf32>
    ```
    becomes
    ```mlir
    func.func @f_forward(%x: memref<?xf32>, %y: memref<?xf32>, %residuals: memref<?xi8>) {
      %a = memref.view %residuals[%c0][%n] : memref<?xi8> to memref<?xf32>
      linalg.exp ins(%x : memref<?xf32>) outs(%a : memref<?xf32>)
      memref.copy %a, %y : memref<?xf32> to memref<?xf32>
    }
    func.func @f_backward(%x: memref<?xf32>, %g: memref<?xf32>, %d: memref<?xf32>,
                          %residuals: memref<?xi8>) {
      %a = memref.view %residuals[%c0][%n] : memref<?xi8> to memref<?xf32>
      linalg.mul ins(%g, %a : memref<?xf32>, memref<?xf32>) outs(%d : memref<?xf32>)
    }
    ```
  }];
  let options = [
    Option<"keepNumbers", "keep-numbers", "bool", /*default=*/"true",
           "Numbers may be written to the residuals, which on a GPU the function could not">,
    Option<"clearUnwritten", "clear-unwritten", "bool", /*default=*/"true",
           "Zeros are written where nothing else is, which on a GPU would take a launch each">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

def OverlapTimeLoops : Pass<"bppsa-overlap-time-loops", "::mlir::ModuleOp"> {
  let summary = "runs time loops that need nothing of each other side by side";
  let description = [{
    A time loop has parallel iterations for blocks of samples, often fewer than there are
    threads. The pass finds calls of kernels that are time loops, such as the directions of a
    bidirectional layer, of which none reads or writes what another one writes. What needs
    the first ones moves behind the last, and all become the iterations of a parallel loop.
    Where cores exchange what they have written, that takes longer than a little work: loops with fewer
    than `least-work` multiply-adds for each number that they read or write stay as they are.
    `bppsa_rt_side_by_side(loops, iterations)` of the run time says whether that is sooner done than
    one loop after the other, each on all threads; `iterations` are those of the first loop.

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
    Option<"leastWork", "least-work", "int64_t", /*default=*/"16",
           "Fewest multiply-adds of a loop for each number that it reads or writes">,
  ];
  let statistics = [Statistic<"numGroups", "groups", "groups of time loops">];
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

def SignalGradients : Pass<"bppsa-signal-gradients", "::mlir::ModuleOp"> {
  let summary = "tells the run time when gradients are final and parameters are read";
  let description = [{
    On memory, in each of `functions`, which are training steps of a program for several ranks.
    `bppsa.await_parameter` of a parameter with a gradient stands in front of the first operation of
    the function's block that uses the parameter or its gradient, `bppsa.signal_gradient` behind the
    last one that uses the gradient. So the gradients of a step are exchanged while it still
    computes others, and the sums travel while the next step computes without their parameters.

    What uses an array follows from the views of it that operations and those of their regions
    take. Where a view goes where the pass cannot follow, such as into the result of an
    `arith.select`, the parameter is awaited at the start of the function, and its gradient is
    final at the end.

    ```mlir
    func.func @step(%w: memref<8xf32> {bppsa.parameter = "w"}, %x: memref<8xf32>,
                    %dw: memref<8xf32> {bppsa.gradient = "w"}) {
      call @load(%x) : (memref<8xf32>) -> ()
      call @forward(%w, %x) : (memref<8xf32>, memref<8xf32>) -> ()
      call @backward(%x, %dw) : (memref<8xf32>, memref<8xf32>) -> ()
      call @more(%x) : (memref<8xf32>) -> ()
    ```
    becomes
    ```mlir
    func.func @step(%w: memref<8xf32> {bppsa.parameter = "w"}, %x: memref<8xf32>,
                    %dw: memref<8xf32> {bppsa.gradient = "w"}) {
      call @load(%x) : (memref<8xf32>) -> ()
      bppsa.await_parameter %w : memref<8xf32>
      call @forward(%w, %x) : (memref<8xf32>, memref<8xf32>) -> ()
      call @backward(%x, %dw) : (memref<8xf32>, memref<8xf32>) -> ()
      bppsa.signal_gradient %dw : memref<8xf32>
      call @more(%x) : (memref<8xf32>) -> ()
    ```
  }];
  let options = [
    ListOption<"functions", "functions", "std::string", "The training steps">,
  ];
}

def VerifyExchanges : Pass<"bppsa-verify-exchanges", "::mlir::ModuleOp"> {
  let summary = "rejects exchanges whose order ranks need not share";
  let description = [{
    All ranks run one program, and each waits for what the others send: they have to make the same
    exchanges in the same order. So `bppsa.await_parameter`, `bppsa.signal_gradient` and
    `bppsa.rank_mean`, and calls of functions with one of them, stand in the block of a function, or in
    a `memref.alloca_scope` or an `scf.for` with constant bounds there. In other control flow they
    would depend on data, or on sizes, which differ with the shares of a batch; the pass fails.

    ```mlir
    scf.if %c {
      // error: 'bppsa.rank_mean' op needs a place that every rank reaches equally often, ...
      bppsa.rank_mean %own into %all : memref<8xf32> : memref<8xf32>
    }
    ```
  }];
}

def VerifyUpdates : Pass<"bppsa-verify-updates", "::mlir::func::FuncOp"> {
  let summary = "rejects steps that read a parameter after its update";
  let description = [{
    A training step that leaves gradients to the next one (`bppsa-schedule-backward` with `defer:L:next`) waits at
    `bppsa.mark_phase 2`. Parameters whose gradients are final there (`bppsa.signal_gradient`) are updated while it waits.
    Gradients that are formed behind must not read them any more: the cotangents of a step are those of
    the values that its forward pass had. Losses and running statistics have to be there, too. The pass fails otherwise;
    functions without `bppsa.signal_gradient` wait for nobody and pass.

    ```mlir
    bppsa.signal_gradient %dv : memref<8xf32>
    bppsa.mark_phase 2
    // error: uses parameter v after its update; ...
    call @weights(%g, %v, %dw) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
    bppsa.signal_gradient %dw : memref<8xf32>
    ```
  }];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES
