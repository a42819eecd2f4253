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
  let summary = "Launch thread blocks";
  let description = [{
    Runs the body `num_blocks` times, each time on a block of `threads` threads. The argument of the
    body is the index of the block. Values captured from above are passed as kernel arguments. No
    tile in the body has more elements than a block has threads.

    By default, threads without an element of a tile are idle during operations on it. With
    `repeat_last` they recompute elements of the tile's last row in loops, so that an iteration is
    one basic block. Their results are discarded, unless a `bgpu.for_each` has `repeat_last`.

    `many_blocks` requires blocks of one warp. `convert-device-to-nvvm` then does not raise the
    register limit of the kernel, and a multiprocessor holds many blocks.

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
  let summary = "Reduce a tile over its rows";
  let description = [{
    Combines the elements of each column of `tile` by `kind`. The reduction tree depends only on the
    number of rows, a power of two: row i is combined with row i + rows / 2 until one row is left.

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
  let summary = "Reduce each row of a tile across neighbouring threads";
  let description = [{
    Combines the elements of each row of `tile`, its last dimension, by `kind`. All threads of the
    row receive the result, computed in a fixed tree. A row has 2 to 32 elements of 32 bits, a power
    of two.

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
  let summary = "Multiply and accumulate matrix tiles on tensor cores";
  let description = [{
    Each warp computes `A B + C` for a 16 x D tile A, a D x 8 tile B and a 16 x 8 tile C. `a`
    holds the threads' fragments of A in the register order of `mma.sync`, `b` of B, `c` and
    `result` of C. All elements are float32.

    With `precision(fp32)` and `precision(tf32)` D is 8, and thread 4 g + t of a warp holds

    | matrix | elements `[row, column]` |
    |---|---|
    | A | [g, t], [g + 8, t], [g, t + 4], [g + 8, t + 4] |
    | B | [t, g], [t + 4, g] |
    | C | [g, 2 t], [g, 2 t + 1], [g + 8, 2 t], [g + 8, 2 t + 1] |

    With `precision(bf16)` D is 16, and a thread holds the pair 2 t, 2 t + 1 instead of t, and the
    pair 2 t + 8, 2 t + 9 instead of t + 4.

    `tf32` rounds factors to 11 significant bits and `bf16` to 8. `fp32` is nearly as accurate as
    float32 (3xTF32): each factor is split into two values of 11 bits. The products are summed over
    D in float32, and the sum is added to C.

    Tiles have one element per thread of whole warps. Shape `[4, 32]` indexes warp and thread. Shape
    `[2, 2, 8, 4]` indexes four warps by row and column of tiles, and threads by g and t.

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
  let summary = "Reduce vectors of neighbouring threads and scatter the result";
  let description = [{
    Each thread of a row of `tile`, its last dimension, holds a vector of N elements. The op
    combines the vectors of a row elementwise by `kind` and distributes the N elements of the result
    over the threads of the row. If a row has more than N threads, the result is replicated. A row
    has 2 to 32 threads, and a vector at most as many elements of 32 bits; both are powers of two.

    The op exchanges halves of the vectors between halves of the threads in a fixed tree.

    ```mlir
    %sums = bgpu.reduce_scatter <add> %parts : tensor<8x32xvector<32xf32>> -> tensor<8x32xf32>
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
  let summary = "Run a body for each element of tiles";
  let description = [{
    Runs the body for each position of a tile of shape `shape`, on the thread that owns the
    position. The arguments of the body are the indices of the position and the elements of `tiles`
    at the position. The body yields the elements of the results. It may read and write arrays in
    device memory and shared memory, but must not read memory that the same op writes for another
    position.

    * `replicas`: number of neighbouring threads that own each position and run the body. `tiles`
      and results have this replicated layout.
    * `repeat_last`: threads without a position run the body for a position of the last row, also
      outside of loops. A body that writes is repeated only by the threads of the last warp, which
      write the value that is already there.

    If threads share rows, as in shape `[64, 2]`, the body may also take the element of the row,
    from a tile `64xf32, #bgpu.replicated<2>`.

    ```mlir
    bgpu.for_each [1, 32] %totals : tensor<1x32xf32> {
    ^bb0(%row: index, %element: index, %total: f32):
      memref.store %total, %sums[%element] : memref<32xf32>
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
    /// Returns the type of a tile of position indices.
    ::mlir::RankedTensorType getPositions();
  }];
  let builders = [
    // Builds an op without results. `emitBody` takes the indices and the elements.
    OpBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::ValueRange":$tiles,
        "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::ValueRange, ::mlir::ValueRange)>":$emitBody,
        CArg<"int64_t", "1">:$replicas)>,
    // Builds an op with one result per type in `elements`. `emitBody` returns their elements.
    OpBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::ValueRange":$tiles, "::mlir::TypeRange":$elements,
        "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>(::mlir::OpBuilder &, ::mlir::ValueRange, ::mlir::ValueRange)>":$emitBody,
        CArg<"int64_t", "1">:$replicas)>,
  ];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
}

def BGPU_YieldOp : BGPU_Op<"yield", [HasParent<"ForEachOp">, Pure, ReturnLike, Terminator]> {
  let summary = "Yield the elements of the results of `bgpu.for_each`";
  let arguments = (ins Variadic<AnyType>:$elements);
  let assemblyFormat = "attr-dict ($elements^ `:` type($elements))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif // BPPSA_DIALECT_BGPU_IR_BGPUOPS
