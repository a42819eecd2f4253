//===- Passes.td - buffer passes ---------------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES

include "mlir/Pass/PassBase.td"

def SeparateDestinations : Pass<"bppsa-separate-destinations", "::mlir::func::FuncOp"> {
  let summary = "Give each operation a separate destination tensor";
  let description = [{
    Clones each `tensor.empty` or `linalg.fill` with several users for every operation that writes
    into it. The time that bufferization spends on conflicts is cubic in their number. An empty
    tensor that is written slice by slice is kept.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def Bufferize : Pass<"bppsa-bufferize", "::mlir::ModuleOp"> {
  let summary = "Bufferize the module";
  let description = [{
    Runs one-shot bufferization on the whole module. A tensor argument of a function becomes a
    read-only memref with the identity layout. Tensor results are passed as by
    `bppsa-pass-results-by-argument`. Temporary memory is freed after its last use. Every defined
    function gets a C interface, which takes pointers to memref descriptors. Example result:
    ```mlir
    func.func @f(%x: memref<?xf32>, %y: memref<?xf32>) attributes {llvm.emit_c_interface}
    ```
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"
  ];
}

def SinkReads : Pass<"bppsa-sink-reads", "::mlir::func::FuncOp"> {
  let summary = "Sink reads of arguments into the graph operations that use them";
  let description = [{
    Moves loads of scalars from arguments that are never written, such as the seed of dropouts, and
    the computations that depend only on them, into each graph operation that uses them. Example
    result:
    ```mlir
    linalg.generic ... { %0 = memref.load %seed[] : memref<i64>  ... arith.addi %i, %0 : i64 ... }
    ```
  }];
}

def FoldCoveredFills : Pass<"bppsa-fold-covered-fills", "::mlir::func::FuncOp"> {
  let summary = "Remove fills that are completely overwritten";
  let description = [{
    Removes the fill of a tensor if slices are then inserted into it one after another, and if these
    slices are disjoint and cover the tensor, such as the gate gradients that form the gradient of a
    matrix. Example result:
    ```mlir
    %1 = tensor.insert_slice %a into %empty[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
    %2 = tensor.insert_slice %b into %1[2] [2] [1] : tensor<2xf32> into tensor<4xf32>
    ```
  }];
}

def FoldResultCopies : Pass<"bppsa-fold-result-copies", "::mlir::func::FuncOp"> {
  let summary = "Compute results directly in the memory of the caller";
  let description = [{
    Replaces an allocation whose contents are only copied to a result argument by that argument.
    This applies if the array has a static shape, is possibly reshaped before the copy, and is not
    used afterwards, and if nothing else uses the argument. Example result:
    ```mlir
    %a = memref.collapse_shape %result [[0, 1]] : memref<2x3xf32> into memref<6xf32>
    jacobian.sparse_outer_sum ... into(%a : memref<6xf32>)
    ```
  }];
  let statistics = [Statistic<"numFolded", "folded", "copies that were removed">];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def PassResultsByArgument : Pass<"bppsa-pass-results-by-argument", "::mlir::ModuleOp"> {
  let summary = "Pass results of functions by argument";
  let description = [{
    Appends a memref argument for each tensor result of a function and materializes the result into
    it. If the pass runs before the elimination of empty tensors, operations write results directly
    to the memory of the caller. Example result:
    ```mlir
    bufferization.materialize_in_destination %y in restrict writable %m : (tensor<4xf32>, memref<4xf32>) -> ()
    ```
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"
  ];
}

def PlanArena : Pass<"bppsa-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Assign temporaries of host functions to offsets in one arena";
  let description = [{
    Plans the memory of a GPU program's host functions. All temporaries of a function are placed in
    one block of memory, the arena, whose size the run time knows before the call. Private functions
    that allocate are inlined first.

    For each public function `@f` the pass considers the allocations whose sizes depend only on the
    symbols of the model (the module's `bppsa.symbols`, bound by `bppsa.shape` of the arguments). It
    creates a function `@f_arena` of the values of all symbols, in order, which returns the offsets
    of the arena's slots and, as its last result, the size of the arena in bytes. Allocations share
    a slot if one is freed before the other is made. A slot has the size of its largest allocation,
    and slots are aligned to 256 bytes. Allocations of other sizes are unchanged. Example result:
    ```mlir
    %plan:2 = call @f_arena(%n) : (index) -> (index, index)
    %slice = call @bppsa_rt_arena_take(%plan#0, %bytes) : (index, index) -> memref<?xi8>
    %a = memref.view %slice[%c0][%n] : memref<?xi8> to memref<?xf32>
    ...
    call @bppsa_rt_arena_drop(%slice) : (memref<?xi8>) -> ()
    ```
    With two streams (`bppsa-assign-streams`), memory that is freed while the sub stream is selected
    remains in use until the main stream waits for an event recorded after that point.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
}

def SeparateBackward : Pass<"bppsa-separate-backward", "::mlir::ModuleOp"> {
  let summary = "Split functions of outputs and gradients into forward and backward functions";
  let description = [{
    Splits each public function on memory that writes outputs (`bppsa.output`) and gradients
    (`bppsa.gradient`) but no loss, at the mark of its backward part. For a function `@f` the pass
    creates:

    * `@f_forward`, which writes the outputs and stores the residuals of the backward part in
      `%residuals`: arrays, and scalars that it has read from memory.
    * `@f_backward`, which computes the gradients. It does not modify the residuals, so it may run
      several times.
    * `@f_backward_parameters`, which omits the gradients of inputs and their computation.
    * `@f_residuals`, which returns the bytes of `%residuals` for the values of all symbols of the
      model, in order. The result is an upper bound if sizes depend on the values of inputs; the
      forward part then reports the actual size to the run time (`bppsa_rt_residuals`).

    With `clear-unwritten` the forward part writes every byte of the residuals, so their contents
    are a function of its arguments. Example result:
    ```mlir
    func.func @f_forward(%x: memref<?xf32>, %y: memref<?xf32>, %residuals: memref<?xi8>)
    func.func @f_backward(%x: memref<?xf32>, %g: memref<?xf32>, %d: memref<?xf32>,
                          %residuals: memref<?xi8>)
    ```
  }];
  let options = [
    Option<"keepNumbers", "keep-numbers", "bool", /*default=*/"true",
           "store scalars in the residuals, which is not possible on a GPU">,
    Option<"clearUnwritten", "clear-unwritten", "bool", /*default=*/"true",
           "write zeros to unwritten bytes, each of which would need a launch on a GPU">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES
