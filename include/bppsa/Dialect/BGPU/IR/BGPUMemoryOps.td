//===- BGPUMemoryOps.td - memory of thread blocks ----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPUMEMORYOPS
#define BPPSA_DIALECT_BGPU_IR_BGPUMEMORYOPS

include "bppsa/Dialect/BGPU/IR/BGPUDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def BGPU_GetOp : BGPU_Op<"get"> {
  let summary = "Read rows of an array in shared memory as a tile";
  let description = [{
    Reads rows `first`, `first` + 1, ... of `buffer`, as many as the result has.

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
  let summary = "Write a tile to rows of an array in shared memory";
  let description = [{
    Writes `tile` to rows `first`, `first` + 1, ... of `buffer`. Each thread writes its element; of
    several threads with the same element, the first one writes it.

    ```mlir
    bgpu.put %tile, %buffer[0] : tensor<16x32xf32>, memref<16x32xf32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins BGPU_Tile:$tile, Arg<BGPU_Buffer, "", [MemWrite]>:$buffer, I64Attr:$first);
  let assemblyFormat = "$tile `,` $buffer `[` $first `]` attr-dict `:` type($tile) `,` type($buffer)";
  let hasVerifier = 1;
}

def BGPU_AccumulateOp : BGPU_Op<"accumulate"> {
  let summary = "Add a tile of registers to an array in device memory";
  let description = [{
    Adds the vector or matrix in `tile` to `array`, or overwrites `array` with `overwrite`. The
    layouts of `tile` are:

    * A vector of N elements is a tile with N elements.
    * A matrix of N rows and C columns is a tile `NxvectorCx..`: the thread of row n holds all
      columns. The columns are the rows of `array`.
    * If P threads share a row, the tile is `NxPxvectorSx..` with S = ceil(C / P). Columns are
      distributed to these threads in groups of four; the remaining columns in groups of two and
      one.

    Each element of `array` is always accessed by the same thread, so operations on the same array
    need no barrier between them.

    ```mlir
    bgpu.accumulate %sum, %sums : tensor<20xvector<12xf32>>, memref<12x20xf32>
    ```
  }];
  let arguments = (ins BGPU_Tile:$tile, Arg<BGPU_Buffer, "", [MemRead, MemWrite]>:$array,
                       UnitAttr:$overwrite);
  let assemblyFormat = "(`overwrite` $overwrite^)? $tile `,` $array attr-dict `:` type($tile) `,` type($array)";
  let extraClassDeclaration = [{
    /// Returns the number of threads that share a row of the matrix; 1 for a vector.
    int64_t getNumParts();
    /// Returns the number of columns of the matrix; 1 for a vector.
    int64_t getNumColumns();
  }];
  let hasVerifier = 1;
}

def BGPU_ShareOp : BGPU_Op<"share", [
    TypesMatchWith<"an array of the elements of the tile", "tile", "array",
                   "ShareOp::getArrayType(::llvm::cast<::mlir::RankedTensorType>($_self))">
  ]> {
  let summary = "Make a tile readable by all threads of a block";
  let description = [{
    Returns the elements of `tile` as an array that every thread of the block may read until the op
    runs again. `bgpu-allocate-shared` allocates it in shared memory. A tile carried by a loop is
    double-buffered. Such a loop must have step 1.

    ```mlir
    %whole = bgpu.share %g : tensor<20xf32>
    ```
  }];
  let arguments = (ins BGPU_Tile:$tile);
  let results = (outs BGPU_Buffer:$array);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
  let extraClassDeclaration = [{
    /// Returns the array type for a tile type.
    static ::mlir::MemRefType getArrayType(::mlir::RankedTensorType tile);
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$tile)>];
  let skipDefaultBuilders = 1;
}

def BGPU_FetchOp : BGPU_Op<"fetch", [
    TypesMatchWith<"a row of the array", "array", "vector",
                   "FetchOp::getVectorType(::llvm::cast<::mlir::MemRefType>($_self))">
  ]> {
  let summary = "Prefetch a vector of an array for later loop iterations";
  let description = [{
    Returns row `position` of `array`, along its last dimension, readable by every thread of the
    block in this iteration of the innermost `scf.for`. `bgpu-stage-copies` turns the op into
    asynchronous copies issued `stages` - 1 iterations ahead. The kernel must not write to memory
    that it fetches.

    ```mlir
    %vector = bgpu.fetch %x[%i, %block] stages(8) : memref<?x?x20xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$array, Variadic<Index>:$position, I64Attr:$stages);
  let results = (outs AnyMemRef:$vector);
  let assemblyFormat = "$array `[` $position `]` `stages` `(` $stages `)` attr-dict `:` type($array)";
  let extraClassDeclaration = [{
    /// Returns the type of a row of `array`.
    static ::mlir::MemRefType getVectorType(::mlir::MemRefType array);
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$array, "::mlir::ValueRange":$position, "int64_t":$stages)>];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
}

def BGPU_WaitOp : BGPU_Op<"wait"> {
  let summary = "Wait for asynchronous copies";
  let description = [{
    Each thread waits until at most `groups` of its groups of asynchronous copies are pending. Its
    own copies to `slots`, arrays in shared memory, are then complete. Copies by other threads
    additionally require a barrier, which `bgpu-insert-barriers` inserts.

    ```mlir
    bgpu.wait %slot groups(2) : memref<8x32xf32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Arg<Variadic<BGPU_Buffer>, "", [MemWrite]>:$slots, I64Attr:$groups);
  let assemblyFormat = "$slots `groups` `(` $groups `)` attr-dict `:` type($slots)";
}

def BGPU_WarpBarrierOp : BGPU_Op<"warp_barrier"> {
  let summary = "Synchronize the threads of a warp";
  let description = [{
    Each warp of the block waits for its own 32 threads and makes their writes visible to each
    other.

    ```mlir
    bgpu.warp_barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def BGPU_GridBarrierOp : BGPU_Op<"grid_barrier"> {
  let summary = "Synchronize a group of blocks";
  let description = [{
    Waits for all threads of a group of blocks and makes their writes visible. The blocks must run
    at the same time, so the kernel requires a cooperative launch. The op is also a barrier of the
    block.

    Each block adds one to `counters[group, 0]` in device memory and waits until the counter is at
    least `count`. The counter starts at zero and is never reset: after the n-th barrier of m blocks
    `count` is n * m. Groups synchronize independently.

    ```mlir
    bgpu.grid_barrier %counters[%group] until %count : memref<?x32xi32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[I32], [2]>:$counters, Index:$group, I32:$count);
  let assemblyFormat = "$counters `[` $group `]` `until` $count attr-dict `:` type($counters)";
  let hasVerifier = 1;
}

#endif // BPPSA_DIALECT_BGPU_IR_BGPUMEMORYOPS
