//===- BGPUMemoryOps.td - memory of blocks -----------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPUMEMORYOPS
#define BPPSA_DIALECT_BGPU_IR_BGPUMEMORYOPS

include "bppsa/Dialect/BGPU/IR/BGPUDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

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

#endif // BPPSA_DIALECT_BGPU_IR_BGPUMEMORYOPS
