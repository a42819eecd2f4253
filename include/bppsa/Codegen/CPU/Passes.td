//===- Passes.td - passes: code without ops of the dialect - -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CODEGEN_CPU_PASSES
#define BPPSA_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"bppsa-expand-math", "::mlir::ModuleOp"> {
  let summary = "expand transcendental functions to polynomials";
  let description = [{
    `tanh`, `exp`, `log` and others of the math dialect become MLIR's polynomial
    approximations, and `bppsa.sigmoid` a polynomial exponential and a division.
    No f32 function of the math dialect that loops over samples use is left as a
    call.

    ```mlir
    %y = bppsa.sigmoid %x : vector<16xf32>
    ```
    becomes `1 / (1 + 2^n p(r))` with `-x = n log 2 + r`.

    With `reciprocals`, the divisions of `tanh` and `bppsa.sigmoid`, whose divisors are
    finite and not close to zero, have the flag `arcp`: `convert-device-to-nvvm` makes
    products with a reciprocal of these.
  }];
  let options = [
    Option<"reciprocals", "reciprocals", "bool", "false",
           "mark divisions that a product with a reciprocal may replace">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"
  ];
}

def FuseMultiplyAdds : Pass<"bppsa-fuse-multiply-adds", "::mlir::func::FuncOp"> {
  let summary = "round products once, with the sums that read them";
  let description = [{
    A product that one sum or difference of its block reads becomes part of it: `vector.fma`, or
    `llvm.intr.fmuladd` of numbers. The first operand is taken where both are products.

    The compiler decides this, and not LLVM, as code for one sample and for several, or for one thread and many,
    must round in the same way, at every level of optimisation.

    ```mlir
    %p = arith.mulf %x, %y : vector<16xf32>
    %s = arith.addf %z, %p : vector<16xf32>
    ```
    becomes `vector.fma %x, %y, %z`.
  }];
  let statistics = [Statistic<"numFused", "fused", "sums that became one operation with a product">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"
  ];
}

def ExpandViews : Pass<"bppsa-expand-views"> {
  let summary = "lower views of arrays to offsets and strides";
  let description = [{
    The patterns of upstream's `expand-strided-metadata`, applied to views and to what becomes of them alone: most
    operations of a program are no views, and upstream's pass looks at all of them.

    ```mlir
    %row = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    ```
    becomes
    ```mlir
    %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %x : memref<?x8xf32> -> ...
    %first = affine.apply affine_map<()[s0] -> (s0 * 8)>()[%i]
    %row = memref.reinterpret_cast %base to offset: [%first], sizes: [8], strides: [1] : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def LowerMath : Pass<"bppsa-lower-math", "::mlir::ModuleOp"> {
  let summary = "lower what is left of the math dialect to LLVM and calls of libm";
  let description = [{
    Upstream's `convert-math-to-llvm` and `convert-math-to-libm`, where anything of the dialect is left but `absf`,
    `ceil`, `floor` and `sqrt`, which `convert-to-llvm` knows: after `bppsa-expand-math` few modules have any, and
    each of the two looks at all operations.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"
  ];
}

def LowerVectors : Pass<"bppsa-lower-vectors", "::mlir::ModuleOp"> {
  let summary = "lower the vector dialect to LLVM";
  let description = [{
    What upstream's `convert-vector-to-llvm` does for vectors of one dimension. That pass looks at all operations of
    a module twice, this one at those of the dialect and at what becomes of them. An operation that LLVM does not
    have, such as a contraction, is an error.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ExpandReshapes : Pass<"bppsa-expand-reshapes", "::mlir::ModuleOp"> {
  let summary = "make views of reshapes into several dynamic sizes";
  let description = [{
    `memref.expand_shape` of one dimension into several dynamic ones becomes a
    `memref.reinterpret_cast`: upstream's `expand-strided-metadata` knows at most
    one dynamic size of a group.

    ```mlir
    %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%t, %b, 4]
        : memref<?x4xf32> into memref<?x?x4xf32>
    ```
    becomes
    ```mlir
    %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %x
    %stride = arith.muli %strides#0, %b
    %y = memref.reinterpret_cast %base to offset: [0], sizes: [%t, %b, 4], strides: [%stride, 4, 1]
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def FuseElementwise : Pass<"bppsa-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "compute elementwise results where the next elementwise operation reads them";
  let description = [{
    A `linalg.generic` on tensors without reductions, whose result one other of them reads element
    by element in the same order, becomes part of that: the array between them is neither written
    nor read. Upstream's `linalg-fuse-elementwise-ops` would also fuse what is broadcast or
    transposed, and so compute it again or read arrays across their rows. A product stays apart from a sum of it:
    together they would be one instruction that rounds once, and no bit is to depend on
    what is fused.

    With `recompute`, what is arithmetic alone and has at most two readers is computed where each of them
    reads it, and once for each element where it is broadcast: on a GPU the launch of one more kernel takes longer.

    ```mlir
    %a = linalg.generic ... ins(%x) { %0 = math.exp %in ... }
    %b = linalg.generic ... ins(%a, %y) { %1 = arith.addf %in, %in_0 ... }
    ```
    becomes
    ```mlir
    %b = linalg.generic ... ins(%x, %y) { %0 = math.exp %in; %1 = arith.addf %0, %in_0 ... }
    ```
  }];
  let options = [
    Option<"recompute", "recompute", "bool", "false",
           "also what has two readers or is broadcast, where it is arithmetic alone">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def MergeKernels : Pass<"bppsa-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "keeps one of the kernels that are equal";
  let description = [{
    Kernels of one `gpu.module` that differ in their names and locations alone become one,
    the first of them, which all of their launches call. Its operations have the locations
    of all.

    ```mlir
    gpu.launch_func @device::@scan_kernel_1_2 blocks in (...) threads in (...) args(%a : memref<?xf32>)
    gpu.launch_func @device::@scan_kernel_7_2 blocks in (...) threads in (...) args(%b : memref<?xf32>)
    ```
    becomes, where both kernels have the same body and the same attributes,
    ```mlir
    gpu.launch_func @device::@scan_kernel_1_2 blocks in (...) threads in (...) args(%a : memref<?xf32>)
    gpu.launch_func @device::@scan_kernel_1_2 blocks in (...) threads in (...) args(%b : memref<?xf32>)
    ```
  }];
}

def CollapseLoops : Pass<"bppsa-collapse-loops", "::mlir::func::FuncOp"> {
  let summary = "run over steps and samples by one loop";
  let description = [{
    Neighbouring parallel loops of a `linalg.generic` on memory become one where their dimensions are one in memory
    in each array that has them. A loop over one sample is no loop for vectors; one over all steps is.

    ```mlir
    linalg.generic {indexing_maps = [(t, b, c) -> (t, b, c), (t, b, c) -> (t, b)], ...}
        ins(%x : memref<?x?x10xf32>) outs(%y : memref<?x?xf32>)
    ```
    becomes one of `(n, c) -> (n, c)` and `(n, c) -> (n)`, on `memref<?x10xf32>` and `memref<?xf32>`.
  }];
  let statistics = [Statistic<"numCollapsed", "collapsed", "operations with fewer loops">];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def VectorizeRows : Pass<"bppsa-vectorize-rows", "::mlir::func::FuncOp"> {
  let summary = "compute short rows of arrays by vectors";
  let description = [{
    The innermost loop of a `linalg.generic` on memory, where it has from 2 to 32 steps, a softmax over ten classes
    for one, is too short for LLVM to make vectors of it. Operands are contiguous along it or the same for all steps,
    and the operations of the body are elementwise.

    Rows of f32, at least four elements long, are computed side by side: sixteen of them, or eight where `registers`
    is below 32, are the lanes of a vector for each element. They are read and written four elements at a time, which
    are transposed in registers. A sum or maximum of a row takes its elements in order. Rows that are left over at
    the end are a tile of their own, in which the last row is computed several times, so that all rows round alike.

    ```mlir
    linalg.generic {indexing_maps = [(b, c) -> (b, c), (b, c) -> (b)], iterator_types = ["parallel", "reduction"]}
        ins(%x : memref<?x4xf32>) outs(%sum : memref<?xf32>) {
      %1 = math.exp %in : f32
      %2 = arith.addf %out, %1 : f32
    ```
    becomes
    ```mlir
    scf.for %b = %c0 to %whole step %c16 {
      %old = vector.load %sum[%b] : memref<?xf32>, vector<16xf32>
      %row0 = vector.load %x[%b, %c0] : memref<?x4xf32>, vector<4xf32>
      ...
      %1 = math.exp %element0 : vector<16xf32>
      %2 = arith.addf %old, %1 : vector<16xf32>
    ```

    Other rows are one vector each, with an element for each step; where the innermost loop is a sum or a maximum,
    it is reduced in any order. The other loops stay.
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "Vectors of 16 lanes that the target's registers hold">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def VectorizeSums : Pass<"bppsa-vectorize-sums", "::mlir::func::FuncOp"> {
  let summary = "sum all elements of arrays by vectors";
  let description = [{
    A `linalg.generic` on memory whose loops are all reductions and whose result is
    one sum, the loss of a batch for one, adds numbers that wait for each other.
    Where its arrays are contiguous in the order of the loops and the operations of its
    body are elementwise, it becomes a loop over vectors of 16 terms, or 8 where
    `registers` is below 32, whose sums are added up in the end, and one over the
    elements that fill no vector.

    ```mlir
    linalg.generic {indexing_maps = [(t, b) -> (t, b), (t, b) -> ()], iterator_types = ["reduction", "reduction"]}
        ins(%x : memref<?x?xf32>) outs(%sum : memref<f64>) {
      %1 = math.log %in : f32
      %2 = arith.extf %1 : f32 to f64
      %3 = arith.addf %out, %2 : f64
    ```
    becomes
    ```mlir
    %flat = memref.collapse_shape %x [[0, 1]] : memref<?x?xf32> into memref<?xf32>
    %sums = scf.for %i = %c0 to %whole step %c16 iter_args(%old = %zeros) -> (vector<16xf64>) {
      %terms = vector.load %flat[%i] : memref<?xf32>, vector<16xf32>
      %1 = math.log %terms : vector<16xf32>
      ...
    %sum = vector.reduction <add>, %sums fastmath<reassoc> : vector<16xf64> into f64
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "Vectors of 16 lanes that the target's registers hold">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def TileTransposes : Pass<"bppsa-tile-transposes", "::mlir::func::FuncOp"> {
  let summary = "transpose matrices in memory by tiles in registers";
  let description = [{
    A `linalg.transpose` of a matrix of f32 whose rows are contiguous, in both
    arrays, becomes loops over square tiles: rows of the tile are loaded as
    vectors, transposed in registers and stored as vectors, so that every line of
    memory is touched once, whatever the distance of rows is. Tiles have 16 rows,
    or 8 where `registers` is below 32. Rows and columns that fill no tile are
    copied element by element.

    ```mlir
    linalg.transpose ins(%a : memref<?x64xf32>) outs(%b : memref<64x?xf32>) permutation = [1, 0]
    ```
    becomes
    ```mlir
    scf.for %i = ... step %c16 {
      scf.for %j = ... step %c16 {
        %row = vector.load %a[%i, %j] ... (16 of them)
        %low = vector.shuffle ... (64 of them)
        vector.store %column, %b[%j, %i] ... (16 of them)
      }
    }
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "Vectors of 16 lanes that the target's registers hold">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def VectorizeContractions : Pass<"bppsa-vectorize-contractions", "::mlir::ModuleOp"> {
  let summary = "lower sums of products on memory to loops over vectors";
  let description = [{
    A `linalg.generic` on f32 memory whose body is `accumulator + lhs * rhs`, such
    as a convolution, its two cotangents or a matrix product, becomes loops over
    tiles of its result. One loop with contiguous elements gives the
    lanes of vectors of 16, another one over the result the rows of a tile, which
    share the vectors of an operand; the accumulators stay in registers while the
    remaining loops add terms. A last vector that is not full is masked. Steps
    that write different entries are shared out to threads where they are large;
    no sum is split among threads, so its order does not depend on their number.
    Where the result is read through a window, as in the cotangent of the input
    of a convolution, only loops that are not in the window run in parallel.

    A generic without such a loop, as of a convolution with strides, stays what it is.

    ```mlir
    linalg.generic {indexing_maps = [(n, m, o, k) -> (n, o + k), (n, m, o, k) -> (m, k),
                                     (n, m, o, k) -> (n, m, o)], ...}
    ```
    becomes
    ```mlir
    scf.for %n ... scf.for %m ... step %c8 ... scf.for %o ... step %c16 {
      %sums:8 = scf.for %k ... {
        %x = vector.load ...   %w = memref.load ...   vector.fma ... (8 of them)
      }
      vector.store ... (8 of them)
    }
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "Vectors of 16 lanes that the target's registers hold">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ChooseProductMapping : Pass<"bppsa-choose-product-mapping", "::mlir::func::FuncOp"> {
  let summary = "choose how convolutions, their cotangents and matrix products run";
  let description = [{
    Gives each `linalg.generic` on f32 memory that adds products `lhs * rhs` the attribute
    `bppsa.mapping`, unless it has one: `direct`, `packed_lhs` or `packed_rhs`, after the factor
    whose loops are lanes. It compares what each takes, with one sample and with 16 where the batch is dynamic: the
    vectors that are multiplied, full or not, and the elements that are copied to panels and added
    to the result. A remark of the category `mapping` says what was chosen, and why.

    ```mlir
    linalg.generic {indexing_maps = [(i, j, k) -> (i, k), (i, j, k) -> (k, j), (i, j, k) -> (i, j)], ...}
    ```
    becomes
    ```mlir
    linalg.generic {..., bppsa.mapping = #bppsa.product_mapping<packed_rhs>}
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def PackProducts : Pass<"bppsa-pack-products", "::mlir::ModuleOp"> {
  let summary = "lower mapped sums of products to products of packed panels";
  let description = [{
    A `linalg.generic` with a packed mapping becomes a matrix product. Loops that the result and
    one factor depend on are its rows, those of the result and the other one its columns, which are
    lanes; loops of both factors alone are the terms of a sum, and loops of all three a batch of
    products. Each of them may be several loops with any strides, so that convolutions with strides,
    dilations and groups and both of their cotangents are products as well.

    For blocks of rows, columns and terms, both factors are copied to panels (the windows of an image
    are unfolded there), tiles of the result are multiplied in registers, and added to the result.
    Copying and adding go by tables of offsets, with vectors where neighbouring columns are neighbours
    in memory. The functions that copy, multiply and add are shared by all products of the module.

    Blocks of the result are shared out to threads, where they write different elements; no sum is
    split among threads, so its order does not depend on their number.

    ```mlir
    linalg.generic {indexing_maps = [(i, j, k) -> (i, k), (i, j, k) -> (k, j), (i, j, k) -> (i, j)], ...,
                    bppsa.mapping = #bppsa.product_mapping<packed_rhs>}
    ```
    becomes
    ```mlir
    scf.parallel (%rows, %columns) ... {
      scf.for %terms ... step %c256 {
        scf.for %row ... step %c8 { call @pack ... }
        scf.for %column ... step %c32 {
          call @pack ...
          scf.for %row ... step %c8 { call @multiply ...  call @add_tile ... }
        }
      }
    }
    ```
  }];
  let options = [
    Option<"registers", "registers", "int64_t", /*default=*/"32",
           "Vectors of 16 lanes that the target's registers hold">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def UnpackDescriptors : Pass<"bppsa-unpack-descriptors", "::mlir::ModuleOp"> {
  let summary = "hand arrays over to kernels as what their types do not tell";
  let description = [{
    An array becomes several arguments of a kernel: the address of its first element, and
    the sizes and strides that its type leaves open. Kernels are the functions that are
    never inlined (`passthrough = ["noinline"]`) and have no C interface; their
    declarations and calls change with them, and casts between arrays and such words are left
    for `bppsa-resolve-words`. The words of a view (`memref.reinterpret_cast`) come from what
    it is made of, also where `convert-parallel-to-runtime` has left a cast, so that views that
    are only handed over need no descriptor. The pass runs after `bppsa-expand-views` and
    before `finalize-memref-to-llvm`.

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
  let summary = "take the words of arrays from descriptors, and what reads descriptors from words";
  let description = [{
    Resolves the casts between arrays and the words in which they are handed over
    (`bppsa-unpack-descriptors`, `convert-parallel-to-runtime`): a word of an array is read from
    its descriptor, and what reads a field of the descriptor of an array that arrives in words
    reads a word or a constant. The pass runs after `finalize-memref-to-llvm`.

    ```mlir
    %x = builtin.unrealized_conversion_cast %address, %size : !llvm.ptr, i64 to memref<?x8xf32>
    %d = builtin.unrealized_conversion_cast %x : memref<?x8xf32> to !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
    %n = llvm.extractvalue %d[3, 0]
    ```
    becomes `%size` in place of `%n`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // BPPSA_CODEGEN_CPU_PASSES
