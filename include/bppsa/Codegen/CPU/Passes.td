//===- Passes.td - CPU code generation ---------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_CPU_PASSES
#define BPPSA_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"bppsa-expand-math", "::mlir::ModuleOp"> {
  let summary = "Expand transcendental functions to polynomials";
  let description = [{
    Expands `tanh`, `exp`, `log` and other functions of the math dialect to MLIR's polynomial
    approximations, and `bppsa.sigmoid` to a polynomial exponential and a division.

    ```mlir
    %y = bppsa.sigmoid %x : vector<16xf32>
    ```
    becomes `1 / (1 + 2^n p(r))` with `-x = n log 2 + r`.

    With `reciprocals`, the divisions of `tanh` and `bppsa.sigmoid`, whose divisors are finite and
    not close to zero, get the flag `arcp`. `convert-device-to-nvvm` lowers them to products with a
    reciprocal.
  }];
  let options = [
    Option<"reciprocals", "reciprocals", "bool", "false",
           "mark divisions that may become products with a reciprocal">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"
  ];
}

def FuseMultiplyAdds : Pass<"bppsa-fuse-multiply-adds", "::mlir::func::FuncOp"> {
  let summary = "Fuse products and sums into multiply-adds";
  let description = [{
    Fuses a product into the only sum or difference that reads it, if both are in the same block: to
    `vector.fma`, or to `llvm.intr.fmuladd` for scalars. If both operands are products, the first
    one is fused.

    Code for one sample and for several, or for one thread and many, must round identically at every
    optimization level; LLVM does not guarantee this.

    ```mlir
    %p = arith.mulf %x, %y : vector<16xf32>
    %s = arith.addf %z, %p : vector<16xf32>
    ```
    becomes `vector.fma %x, %y, %z`.
  }];
  let statistics = [Statistic<"numFused", "fused", "sums that were fused with a product">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"
  ];
}

def ExpandViews : Pass<"bppsa-expand-views"> {
  let summary = "Lower views of arrays to offsets and strides";
  let description = [{
    Applies the patterns of upstream's `expand-strided-metadata` only to views and the operations
    created from them.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def LowerMath : Pass<"bppsa-lower-math", "::mlir::ModuleOp"> {
  let summary = "Lower the remaining math operations to LLVM and libm";
  let description = [{
    Runs upstream's `convert-math-to-llvm` and `convert-math-to-libm` on modules that contain math
    operations other than `absf`, `ceil`, `floor` and `sqrt`, which `convert-to-llvm` supports.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"
  ];
}

def LowerVectors : Pass<"bppsa-lower-vectors", "::mlir::ModuleOp"> {
  let summary = "Lower the vector dialect to LLVM";
  let description = [{
    Lowers one-dimensional vectors like upstream's `convert-vector-to-llvm`, but visits only
    operations of the vector dialect and the operations created from them. An operation without an
    equivalent in LLVM, such as a contraction, is an error.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ExpandReshapes : Pass<"bppsa-expand-reshapes", "::mlir::ModuleOp"> {
  let summary = "Lower reshapes to several dynamic sizes to views";
  let description = [{
    Lowers a `memref.expand_shape` of one dimension to several dynamic dimensions to a
    `memref.reinterpret_cast`. Upstream's `expand-strided-metadata` supports only one dynamic size
    per group.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def FuseElementwise : Pass<"bppsa-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse elementwise operations";
  let description = [{
    Fuses a `linalg.generic` on tensors without reductions into another one, if the latter is the
    only reader of its result and reads it element by element in the same order. Upstream's
    `linalg-fuse-elementwise-ops` also fuses broadcast and transposed operands, which recomputes
    values or reads arrays across their rows. A product is not fused with a sum of it: results must
    not depend on fusion, and one fused instruction would round once.

    With `recompute`, operations that consist only of arithmetic and have at most two readers are
    fused into each reader, and recomputed for each element if they are broadcast. Example result:
    ```mlir
    %b = linalg.generic ... ins(%x, %y) { %0 = math.exp %in; %1 = arith.addf %0, %in_0 ... }
    ```
  }];
  let options = [
    Option<"recompute", "recompute", "bool", "false",
           "also fuse arithmetic that has two readers or is broadcast">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def MergeKernels : Pass<"bppsa-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Merge equal kernels";
  let description = [{
    Merges kernels of one `gpu.module` that differ only in names and locations. All launches call
    the first of them, whose operations get the fused locations of all.
  }];
}

def CollapseLoops : Pass<"bppsa-collapse-loops", "::mlir::func::FuncOp"> {
  let summary = "Collapse neighbouring parallel loops";
  let description = [{
    Collapses neighbouring parallel loops of a `linalg.generic` on memory if their dimensions are
    contiguous in every array that has them.

    ```mlir
    linalg.generic {indexing_maps = [(t, b, c) -> (t, b, c), (t, b, c) -> (t, b)], ...}
        ins(%x : memref<?x?x10xf32>) outs(%y : memref<?x?xf32>)
    ```
    becomes a `linalg.generic` with the maps `(n, c) -> (n, c)` and `(n, c) -> (n)`, on
    `memref<?x10xf32>` and `memref<?xf32>`.
  }];
  let statistics = [Statistic<"numCollapsed", "collapsed", "operations with fewer loops">];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def VectorizeRows : Pass<"bppsa-vectorize-rows", "::mlir::func::FuncOp"> {
  let summary = "Vectorize operations on short rows of arrays";
  let description = [{
    Vectorizes a `linalg.generic` on memory whose innermost loop has 2 to 32 iterations, such as a
    softmax over ten classes. Operands must be contiguous along this loop or constant over it, and
    the operations of the body must be elementwise.

    Rows of f32 with at least four elements are processed in parallel: one vector per element holds
    16 rows in its lanes, or 8 if `registers` is below 32. A sum or maximum over a row processes its
    elements in order. Remaining rows form a separate tile in which the last row is repeated, so
    that all rows are rounded identically. Example result:
    ```mlir
    scf.for %b = %c0 to %whole step %c16 {
      %old = vector.load %sum[%b] : memref<?xf32>, vector<16xf32>
      %row0 = vector.load %x[%b, %c0] : memref<?x4xf32>, vector<4xf32>
      ...
      %2 = arith.addf %old, %1 : vector<16xf32>
    ```

    Other rows become one vector each, with one lane per iteration; if the innermost loop is a sum
    or a maximum, its order is unspecified.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "number of 16-lane vectors that fit the target's registers">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def VectorizeSums : Pass<"bppsa-vectorize-sums", "::mlir::func::FuncOp"> {
  let summary = "Vectorize sums of all elements of arrays";
  let description = [{
    Vectorizes a `linalg.generic` on memory that reduces all its loops to one sum, such as the loss
    of a batch. The arrays must be contiguous in the order of the loops, and the operations of the
    body must be elementwise. The sum becomes a loop over vectors of 16 terms, or 8 if `registers`
    is below 32, a reduction of the vector of partial sums, and a scalar loop over the remaining
    elements. Example result:
    ```mlir
    %sums = scf.for %i = %c0 to %whole step %c16 iter_args(%old = %zeros) -> (vector<16xf64>) {
      %terms = vector.load %flat[%i] : memref<?xf32>, vector<16xf32>
      ...
    %sum = vector.reduction <add>, %sums fastmath<reassoc> : vector<16xf64> into f64
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "number of 16-lane vectors that fit the target's registers">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def TileTransposes : Pass<"bppsa-tile-transposes", "::mlir::func::FuncOp"> {
  let summary = "Transpose matrices in tiles of registers";
  let description = [{
    Lowers a `linalg.transpose` of an f32 matrix, if the rows of both arrays are contiguous, to
    loops over square tiles, which are transposed in registers. Each cache line is then accessed
    once, regardless of the row stride. Tiles have 16 rows, or 8 if `registers` is below 32.
    Remaining rows and columns are copied element by element. Example result:
    ```mlir
    scf.for %i = ... step %c16 {
      scf.for %j = ... step %c16 {
        %row = vector.load %a[%i, %j] ... (16 of them)
        %low = vector.shuffle ... (64 of them)
        vector.store %column, %b[%j, %i] ... (16 of them)
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "number of 16-lane vectors that fit the target's registers">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def VectorizeContractions : Pass<"bppsa-vectorize-contractions", "::mlir::ModuleOp"> {
  let summary = "Lower contractions on memory to loops over vectors";
  let description = [{
    Lowers a `linalg.generic` on f32 memory with the body `accumulator + lhs * rhs`, such as a
    convolution, its cotangents or a matrix product, to loops over tiles of its result. One loop
    over contiguous elements becomes the lanes of 16-element vectors. Another loop of the result
    becomes the rows of a tile, which share the vectors of an operand. A partial last vector is
    masked.

    Loops over different elements of the result are distributed to threads if they are large. A sum
    is never divided among threads, so its order does not depend on their number. If the result is
    accessed through a window, as for the input cotangent of a convolution, only loops outside the
    window run in parallel. A generic without a contiguous loop, such as a strided convolution, is
    unchanged. Example result:
    ```mlir
    scf.for %n ... scf.for %m ... step %c8 ... scf.for %o ... step %c16 {
      %sums:8 = scf.for %k ... { %x = vector.load ...   %w = memref.load ...   vector.fma ... (8 of them) }
      vector.store ... (8 of them)
    }
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "number of 16-lane vectors that fit the target's registers">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ChooseProductMapping : Pass<"bppsa-choose-product-mapping", "::mlir::func::FuncOp"> {
  let summary = "Choose the implementation of convolutions and matrix products";
  let description = [{
    Sets the attribute `bppsa.mapping` of each `linalg.generic` on f32 memory that sums products
    `lhs * rhs`, unless it is already set: `direct`, `packed_lhs` or `packed_rhs`, named after the
    factor whose loops become lanes. If the batch is dynamic, the pass assumes 1 and 16 samples. A
    remark of the category `mapping` reports the choice and its reason. Example result:
    ```mlir
    linalg.generic {..., bppsa.mapping = #bppsa.product_mapping<packed_rhs>}
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def PackProducts : Pass<"bppsa-pack-products", "::mlir::ModuleOp"> {
  let summary = "Lower contractions with a packed mapping to products of packed panels";
  let description = [{
    Lowers a `linalg.generic` with a packed mapping to a matrix product. Loops of the result and one
    factor are the rows. Loops of the result and the other factor are the columns, which become
    lanes. Loops of both factors only are the terms of the sum, and loops of all three are a batch.
    Each of these may consist of several loops with any strides, so the pass supports convolutions
    with strides, dilations and groups, and both of their cotangents.

    For blocks of rows, columns and terms, both factors are copied to panels; this unfolds the
    windows of an image. All products of the module share the functions that copy, multiply and
    add.

    Blocks of the result with different elements are distributed to threads. A sum is never divided
    among threads, so its order does not depend on their number. Example result:
    ```mlir
    scf.parallel (%rows, %columns) ... {
      scf.for %terms ... step %c256 {
        scf.for %row ... step %c8 { call @pack ... }
        scf.for %column ... step %c32 {
          call @pack ...
          scf.for %row ... step %c8 { call @multiply ... call @add_tile ... }
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "number of 16-lane vectors that fit the target's registers">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def UnpackDescriptors : Pass<"bppsa-unpack-descriptors", "::mlir::ModuleOp"> {
  let summary = "Pass arrays to kernels as pointers, dynamic sizes and strides";
  let description = [{
    Replaces each memref argument of a kernel by the address of its first element and the sizes and
    strides that its type leaves dynamic. Kernels are the functions that are never inlined
    (`passthrough = ["noinline"]`) and have no C interface. Casts between memrefs and these
    values, called words, are left for `bppsa-resolve-words`. The words of a view
    (`memref.reinterpret_cast`) are computed from its operands, also across casts left by
    `convert-parallel-to-runtime`.

    The pass runs after `bppsa-expand-views` and before `finalize-memref-to-llvm`.

    ```mlir
    func.func private @kernel(memref<?x8xf32>, memref<4x2xf32, strided<[2, 1], offset: ?>>)
        attributes {passthrough = ["noinline"]}
    ```
    becomes
    ```mlir
    func.func private @kernel(!llvm.ptr, i64, !llvm.ptr) attributes {passthrough = ["noinline"]}
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def ResolveWords : Pass<"bppsa-resolve-words", "::mlir::ModuleOp"> {
  let summary = "Resolve casts between memref descriptors and their words";
  let description = [{
    Resolves the casts between memrefs and the words in which they are passed
    (`bppsa-unpack-descriptors`, `convert-parallel-to-runtime`). A word of a memref is read from its
    descriptor. A read of a descriptor field of a memref that was passed as words becomes the word
    or a constant. The pass runs after `finalize-memref-to-llvm`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // BPPSA_CODEGEN_CPU_PASSES
