//===- Passes.td - passes: buffers ----------------------- -*- tablegen -*-===//
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

def FoldResultCopies : Pass<"bppsa-fold-result-copies", "::mlir::func::FuncOp"> {
  let summary = "makes results in the memory that the caller has for them";
  let description = [{
    An operation that allocates its result, such as the gradient of a matrix, and reshapes between
    it and the function's result keep the elimination of empty tensors from giving the operation
    the memory of the caller. Where an array of static shape, reshaped, is copied to an argument
    that nothing else uses, and used no more, it is made in that argument.

    ```mlir
    %a = memref.alloc() : memref<6xf32>
    jacobian.sparse_outer_sum ... into %a : memref<6xf32>
    %b = memref.expand_shape %a [[0, 1]] output_shape [2, 3] : memref<6xf32> into memref<2x3xf32>
    memref.copy %b, %result : memref<2x3xf32> to memref<2x3xf32>
    ```
    becomes
    ```mlir
    %a = memref.collapse_shape %result [[0, 1]] : memref<2x3xf32> into memref<6xf32>
    jacobian.sparse_outer_sum ... into %a : memref<6xf32>
    ```
  }];
  let statistics = [Statistic<"numFolded", "folded", "copies that are left out">];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
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
    the last one that needs it was launched. Where there are two streams (`bppsa-assign-streams`), what
    is freed while the sub stream is selected is in use until the main stream waits for an event that is recorded behind. Allocations whose size depends on more than
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

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES
