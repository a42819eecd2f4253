//===- BGPUDialect.td - the bgpu dialect -------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_IR_BGPUDIALECT
#define BPPSA_DIALECT_BGPU_IR_BGPUDIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

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

#endif // BPPSA_DIALECT_BGPU_IR_BGPUDIALECT
