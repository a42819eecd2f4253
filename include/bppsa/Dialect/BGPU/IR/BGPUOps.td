//===- BGPUOps.td - block-level kernels --------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPUOPS
#define BPPSA_DIALECT_BGPU_IR_BGPUOPS

include "bppsa/Support/TensorPrecision.td"
include "mlir/Dialect/Vector/IR/VectorAttributes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def BGPU_Dialect : Dialect {
  let name = "bgpu";
  let cppNamespace = "::bppsa::bgpu";
  let summary = "kernels of a GPU, block by block";
  let description = [{
    Kernels before their work is distributed to threads. What the threads of a block have
    together is one tensor of static shape, a tile; operations on tiles are those of a block.
    Element number i of a tile, in row-major order, belongs to thread i of the block. With the layout
    `#bgpu.replicated<n>` it belongs to n neighbouring threads, which have all the same value.

    A tile begins as a `tensor.generate`, whose body a thread runs for its element, and ends in a
    `bgpu.for_each`. Between them stand elementwise operations of `arith`, the operations of this
    dialect, and `scf.for` and `scf.if`. Indices of threads exist only in the bodies of these two,
    so all that stands outside of them is the same for all threads of a block: barriers there never
    diverge.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::vector::VectorDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def BGPU_ReplicatedAttr : AttrDef<BGPU_Dialect, "Replicated"> {
  let mnemonic = "replicated";
  let summary = "the layout of a tile whose elements several threads have";
  let description = [{
    Threads i * `count` to (i + 1) * `count` - 1 have element number i of the tile, with the same value:
    what threads that share a row have after they have added up their parts of it (`bgpu.reduce_across`).
    `count` is a power of two from 2 to 32, so they are in one warp.

    Example: `tensor<64xf32, #bgpu.replicated<2>>`
  }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

class BGPU_Op<string mnemonic, list<Trait> traits = []> : Op<BGPU_Dialect, mnemonic, traits>;

def BGPU_Tile : StaticShapeTensorOf<[AnyFloat, AnyInteger, Index, AnyVectorOfNonZeroRank]>;
def BGPU_Buffer : StaticShapeMemRefOf<[AnyFloat, AnyInteger, Index]>;

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

def BGPU_GetOp : BGPU_Op<"get"> {
  let summary = "reads rows of an array in shared memory";
  let description = [{
    Rows `first`, `first` + 1, ... of `buffer`, as many as the result has: each thread reads the
    element of the tile that it has. Between the writing of an element by one thread and its
    reading by another there must be a barrier, which `bgpu-insert-barriers` puts there.

    ```mlir
    %upper = bgpu.get %buffer[8] : memref<16x32xf32, #gpu.address_space<workgroup>> -> tensor<8x32xf32>
    ```
  }];
  let arguments = (ins Arg<BGPU_Buffer, "", [MemRead]>:$buffer, I64Attr:$first);
  let results = (outs BGPU_Tile:$result);
  let assemblyFormat = "$buffer `[` $first `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def BGPU_PutOp : BGPU_Op<"put"> {
  let summary = "writes rows of an array in shared memory";
  let description = [{
    Each thread writes the element that it has of `tile` to `buffer`, whose rows `first`,
    `first` + 1, ... the tile is then. Of threads that have the same element, the first one does.

    ```mlir
    bgpu.put %tile, %buffer[0] : tensor<16x32xf32>, memref<16x32xf32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins BGPU_Tile:$tile, Arg<BGPU_Buffer, "", [MemWrite]>:$buffer, I64Attr:$first);
  let assemblyFormat = "$tile `,` $buffer `[` $first `]` attr-dict `:` type($tile) `,` type($buffer)";
  let hasVerifier = 1;
}

def BGPU_AccumulateOp : BGPU_Op<"accumulate"> {
  let summary = "adds up numbers of a thread in memory";
  let description = [{
    Adds the elements of a matrix that threads have in registers, or of a vector, to `array` in
    device memory, or writes them there with `overwrite`. A vector of N elements is a tile of N. Of a
    matrix of N rows, whose columns are the vectors of `array`, the thread of row n has all columns, a
    tile `NxvectorCx..`; where P threads share a row, each has some, a tile `NxPxvectorSx..` with
    S = ceil(C / P): columns are distributed to them by fours, and the others by two and one.

    An element is always that of the same thread, so operations on the same array need no barrier
    between them. Of threads that have the same element of a vector, the first one adds it.

    ```mlir
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%running = %zeros) -> (tensor<20xvector<12xf32>>) {
      %next = bgpu.for_each [20] %running, %g : tensor<20xvector<12xf32>>, tensor<20xf32>
          -> tensor<20xvector<12xf32>> {...}
      scf.yield %next : tensor<20xvector<12xf32>>
    }
    bgpu.accumulate %sum, %sums : tensor<20xvector<12xf32>>, memref<12x20xf32>
    ```
  }];
  let arguments = (ins BGPU_Tile:$tile, Arg<BGPU_Buffer, "", [MemRead, MemWrite]>:$array,
                       UnitAttr:$overwrite);
  let assemblyFormat = "(`overwrite` $overwrite^)? $tile `,` $array attr-dict `:` type($tile) `,` type($array)";
  let extraClassDeclaration = [{
    /// Threads that share a row of the matrix; 1 for a vector.
    int64_t getNumParts();
    /// Columns of the matrix; 1 for a vector.
    int64_t getNumColumns();
  }];
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

def BGPU_ShareOp : BGPU_Op<"share", [
    TypesMatchWith<"an array of the elements of the tile", "tile", "array",
                   "ShareOp::getArrayType(::llvm::cast<::mlir::RankedTensorType>($_self))">
  ]> {
  let summary = "lets all threads of a block read a tile";
  let description = [{
    The elements of `tile` as an array, which every thread of the block may read until the operation
    runs again. `bgpu-allocate-shared` gives it shared memory: what a loop carries, whose steps must be 1,
    twice, so that an iteration writes what nobody reads any more, and one barrier separates two iterations.

    ```mlir
    %next = scf.for %i = %c0 to %n step %c1 iter_args(%g = %first) -> (tensor<20xf32>) {
      %whole = bgpu.share %g : tensor<20xf32>
      %product = bgpu.for_each [20] -> tensor<20xf32> {
      ^bb0(%row: index):
        ... // reads all of %whole
      }
      scf.yield %product : tensor<20xf32>
    }
    ```
  }];
  let arguments = (ins BGPU_Tile:$tile);
  let results = (outs BGPU_Buffer:$array);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let extraClassDeclaration = [{
    /// The type of the array of a tile.
    static ::mlir::MemRefType getArrayType(::mlir::RankedTensorType tile);
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$tile)>];
  let skipDefaultBuilders = 1;
}

def BGPU_FetchOp : BGPU_Op<"fetch", [
    TypesMatchWith<"a row of the array", "array", "vector",
                   "FetchOp::getVectorType(::llvm::cast<::mlir::MemRefType>($_self))">
  ]> {
  let summary = "reads a vector of an array some iterations ahead";
  let description = [{
    Row `position` of `array`, its last dimension, where every thread of the block may read it in
    this iteration of the innermost `scf.for`. `bgpu-stage-copies` makes asynchronous copies of it,
    which `stages` - 1 iterations before ask for: a read of device memory takes longer than several
    iterations. So nothing that the kernel writes may be fetched.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %vector = bgpu.fetch %x[%i, %block] stages(8) : memref<?x?x20xf32>
      ...
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$array, Variadic<Index>:$position, I64Attr:$stages);
  let results = (outs AnyMemRef:$vector);
  let assemblyFormat = "$array `[` $position `]` `stages` `(` $stages `)` attr-dict `:` type($array)";
  let extraClassDeclaration = [{
    /// The type of a row of `array`.
    static ::mlir::MemRefType getVectorType(::mlir::MemRefType array);
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$array, "::mlir::ValueRange":$position, "int64_t":$stages)>];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
}

def BGPU_WaitOp : BGPU_Op<"wait"> {
  let summary = "waits for asynchronous copies";
  let description = [{
    Each thread waits until at most `groups` groups of its asynchronous copies are under way. The
    copies that it has made to `slots`, arrays in shared memory, are complete then; what other
    threads have copied there is behind a barrier, which `bgpu-insert-barriers` puts there.
  }];
  let arguments = (ins Arg<Variadic<BGPU_Buffer>, "", [MemWrite]>:$slots, I64Attr:$groups);
  let assemblyFormat = "$slots `groups` `(` $groups `)` attr-dict `:` type($slots)";
}

def BGPU_WarpBarrierOp : BGPU_Op<"warp_barrier"> {
  let summary = "waits for the threads of the warp";
  let description = [{
    Each warp of the block waits for its own 32 threads, and what they wrote is visible to them: for
    arrays of which a warp alone has a part. `gpu.barrier` waits for all threads of the block.

    ```mlir
    bgpu.warp_barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def BGPU_GridBarrierOp : BGPU_Op<"grid_barrier"> {
  let summary = "waits for other blocks";
  let description = [{
    Waits for all threads of several blocks, which must run at the same time, and makes what they wrote
    visible: a cooperative launch. Each block adds one to `counters[group, 0]` in device memory and waits
    until that is `count` at least. The counter begins at zero and is never reset, so behind barrier
    number n of m blocks `count` is n * m. A group of blocks has a counter of its own, with a row of the
    array, so that groups wait apart from each other. It is a barrier of the block, too.

    ```mlir
    %count = arith.addi %passed, %c5 : i32
    bgpu.grid_barrier %counters[%group] until %count : memref<?x32xi32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[I32], [2]>:$counters, Index:$group, I32:$count);
  let assemblyFormat = "$counters `[` $group `]` `until` $count attr-dict `:` type($counters)";
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BGPU_IR_BGPUOPS
