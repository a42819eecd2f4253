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
  let summary = "Block-level GPU kernels";
  let description = [{
    Represents GPU kernels before their work is distributed to threads. A value of a thread block is
    a *tile*: a tensor of static shape whose element i, in row-major order, belongs to thread i.
    With the layout `#bgpu.replicated<n>` each element belongs to n neighbouring threads, which hold
    the same value.

    A tile is created by a `tensor.generate`, whose body each thread runs for its element, and is
    consumed by a `bgpu.for_each`. In between are elementwise ops of `arith`, the ops of this
    dialect, `scf.for` and `scf.if`. Everything outside the bodies of `tensor.generate` and
    `bgpu.for_each` is uniform across the block, so barriers never diverge.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::vector::VectorDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def BGPU_ReplicatedAttr : AttrDef<BGPU_Dialect, "Replicated"> {
  let mnemonic = "replicated";
  let summary = "Layout of a tile whose elements several threads hold";
  let description = [{
    Threads i * `count` to (i + 1) * `count` - 1 hold element i of the tile, with the same value, as
    after `bgpu.reduce_across`. `count` is a power of two from 2 to 32, so these threads are in one
    warp.

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
