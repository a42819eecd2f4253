//===- BGPUOps.td - block-level kernels --------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPUOPS
#define BPPSA_DIALECT_BGPU_IR_BGPUOPS

include "bppsa/Dialect/BGPU/IR/BGPUDialect.td"
include "bppsa/Dialect/BGPU/IR/BGPUMemoryOps.td"
include "bppsa/Dialect/BGPU/IR/BGPUStreamOps.td"
include "bppsa/Support/TensorPrecision.td"
include "mlir/Dialect/Vector/IR/VectorAttributes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def BGPU_KernelOp : BGPU_Op<"kernel", [NoTerminator, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "launches blocks of threads";
  let description = [{
    Runs its body `num_blocks` times, each time by a block of `threads` threads; the argument of
    the body is the number of the block. The body has what it uses of the values around it as a
    launch has. No tile in it has more elements than a block has threads.

    Threads without an element of a tile wait where others work on it. With `repeat_last` they compute
    elements of its last row again in loops, so that an iteration is one basic block; they write them nowhere
    but to spare rows of arrays in shared memory, or where a `bgpu.for_each` says so.

    ```mlir
    bgpu.kernel blocks(%block in %numBlocks) threads(512) {
      ...
    }
    ```
  }];
  let arguments = (ins Index:$num_blocks, I64Attr:$threads, UnitAttr:$repeat_last,
                       UnitAttr:$many_blocks);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::mlir::Value":$numBlocks, "int64_t":$threads,
      "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Value)>":$emitBody)>];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
}

def BGPU_ReduceOp : BGPU_Op<"reduce", [Pure]> {
  let summary = "combines the rows of a tile";
  let description = [{
    The elements of each column of `tile` combined by `kind`, in a tree whose shape depends on
    the number of rows alone: row i with row i + rows / 2, until one is left, which is the result.
    Rows are a power of two.

    ```mlir
    %totals = bgpu.reduce <add> %parts : tensor<16x32xf32> -> tensor<1x32xf32>
    ```
  }];
  let arguments = (ins Vector_CombiningKindAttr:$kind, BGPU_Tile:$tile);
  let results = (outs BGPU_Tile:$result);
  let assemblyFormat = "$kind $tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def BGPU_ReduceAcrossOp : BGPU_Op<"reduce_across", [Pure]> {
  let summary = "combines the elements of a row of a tile, which neighbouring threads have";
  let description = [{
    The elements of each row of `tile`, its last dimension, combined by `kind`: all threads of the row
    have the result, by shuffles in a fixed tree. A row has 2 to 32 elements of 32 bits, a power of two.

    ```mlir
    %sums = bgpu.reduce_across <add> %parts : tensor<64x2xf32> -> tensor<64xf32, #bgpu.replicated<2>>
    ```
  }];
  let arguments = (ins Vector_CombiningKindAttr:$kind, BGPU_Tile:$tile);
  let results = (outs BGPU_Tile:$result);
  let assemblyFormat = "$kind $tile attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def BGPU_MmaOp : BGPU_Op<"mma", [
    Pure, TypesMatchWith<"the sums that it adds to", "c", "result", "$_self">
  ]> {
  let summary = "multiplies tiles of matrices on tensor cores";
  let description = [{
    Each warp adds the product of a tile of 16 x D elements, A, and one of D x 8, B, to one of 16 x 8, C.
    Each of its threads has some elements of the three, its fragments: `a` has those of A, and so on. They
    are float32, in the order in which `mma.sync` has them in registers. With `precision(fp32)` and `tf32` D
    is 8; thread 4 g + t of a warp has

    | of | elements `[row, column]` |
    |---|---|
    | A | [g, t], [g + 8, t], [g, t + 4], [g + 8, t + 4] |
    | B | [t, g], [t + 4, g] |
    | C | [g, 2 t], [g, 2 t + 1], [g + 8, 2 t], [g + 8, 2 t + 1] |

    and with `bf16` D is 16: a thread has two neighbours, 2 t and 2 t + 1, in place of t, and 2 t + 8 and
    2 t + 9 in place of t + 4.

    `fp32` is nearly as exact as float32 (3xTF32): a number is the sum of two of 11 bits, and a sum over D in
    float32 is added to that of C. `tf32` multiplies numbers of 11 bits, `bf16` those of 8.

    Tiles have an element for each thread of whole warps: `[4, 32]` says which warp and which thread of it,
    `[2, 2, 8, 4]` where four warps are in rows and columns of tiles, and g and t.

    ```mlir
    %next = bgpu.mma %a, %b, %sums precision(fp32)
        : tensor<4x32xvector<4xf32>>, tensor<4x32xvector<2xf32>>, tensor<4x32xvector<4xf32>>
    ```
  }];
  let arguments = (ins BGPU_Tile:$a, BGPU_Tile:$b, BGPU_Tile:$c, BPPSA_TensorPrecision:$precision);
  let results = (outs BGPU_Tile:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $c `precision` `(` $precision `)` attr-dict `:` type($a) `,` type($b) `,` type($c)
  }];
  let hasVerifier = 1;
}

def BGPU_ReduceScatterOp : BGPU_Op<"reduce_scatter", [Pure]> {
  let summary = "combines vectors of neighbouring threads, whose elements these share out";
  let description = [{
    The threads of a row of `tile`, its last dimension, have a vector of N elements each. These are
    combined by `kind`, element by element, and the elements of the result are shared out to the
    threads: the result has N elements in place of a row, each in as many neighbouring threads as there
    are for it. Halves of the vectors go to halves of the threads, in a fixed tree, so 32 threads add up
    32 elements by 31 shuffles, where `bgpu.reduce_across` has 5 for each. A row has 2 to 32 threads, and
    a vector up to as many elements of 32 bits; both are powers of two.

    ```mlir
    %sums = bgpu.reduce_scatter <add> %parts : tensor<8x32xvector<32xf32>> -> tensor<8x32xf32>
    %more = bgpu.reduce_scatter <add> %others : tensor<8x32xvector<16xf32>> -> tensor<8x16xf32, #bgpu.replicated<2>>
    ```
  }];
  let arguments = (ins Vector_CombiningKindAttr:$kind, BGPU_Tile:$tile);
  let results = (outs BGPU_Tile:$result);
  let assemblyFormat = "$kind $tile attr-dict `:` type($tile) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::vector::CombiningKind":$kind, "::mlir::Value":$tile)>];
  let hasVerifier = 1;
}

def BGPU_ForEachOp : BGPU_Op<"for_each", [
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">
  ]> {
  let summary = "runs a body for each element of tiles";
  let description = [{
    Runs its body for each position of a tile of shape `shape`. The arguments of the body are the
    indices of the position and the elements that `tiles`, of this shape, have there; what it yields
    are elements of the results. The thread that has the position runs the body, which may read and
    write arrays in device memory and in shared memory.

    A body reads nothing that it writes for another position. What it reads or writes of other
    operations' positions, `bgpu-insert-barriers` keeps apart. With `replicas`, as many neighbouring
    threads have each position and run the body: `tiles` and results have that layout. With `repeat_last`,
    threads without a position run the body for one of the last row again, outside of loops too; a body that
    writes is run by those in the last warp, to write what is there already.

    Where threads share rows, `[64, 2]`, the body may also have the element of the row, of a tile
    `64xf32, #bgpu.replicated<2>`.

    ```mlir
    bgpu.for_each [1, 32] %totals : tensor<1x32xf32> {
    ^bb0(%row: index, %element: index, %total: f32):
      memref.store %total, %sums[%element] : memref<32xf32>
    }
    %squares = bgpu.for_each [32] %x : tensor<32xf32> -> tensor<32xf32> {
    ^bb0(%i: index, %value: f32):
      %square = arith.mulf %value, %value : f32
      bgpu.yield %square : f32
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$shape, Variadic<BGPU_Tile>:$tiles,
                       DefaultValuedAttr<I64Attr, "1">:$replicas, UnitAttr:$repeat_last);
  let results = (outs Variadic<BGPU_Tile>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $shape (`replicas` `(` $replicas^ `)`)? ($tiles^ `:` type($tiles))? (`->` type($outputs)^)? $body attr-dict
  }];
  let extraClassDeclaration = [{
    /// The type of a tile of the indices of positions.
    ::mlir::RankedTensorType getPositions();
  }];
  let builders = [
    // Without results. The body gets the indices and the elements.
    OpBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::ValueRange":$tiles,
        "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::ValueRange, ::mlir::ValueRange)>":$emitBody,
        CArg<"int64_t", "1">:$replicas)>,
    // With a result of elements of each of `elements`, which the body gives.
    OpBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::ValueRange":$tiles, "::mlir::TypeRange":$elements,
        "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(::mlir::OpBuilder &, ::mlir::ValueRange, ::mlir::ValueRange)>":$emitBody,
        CArg<"int64_t", "1">:$replicas)>,
  ];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
}

def BGPU_YieldOp : BGPU_Op<"yield", [HasParent<"ForEachOp">, Pure, ReturnLike, Terminator]> {
  let summary = "gives the elements that a body of bgpu.for_each has made";
  let arguments = (ins Variadic<AnyType>:$elements);
  let assemblyFormat = "attr-dict ($elements^ `:` type($elements))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif // BPPSA_DIALECT_BGPU_IR_BGPUOPS
