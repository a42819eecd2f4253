//===- BPPSAMappingAttributes.td - mappings of loops -------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAMAPPINGATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSAMAPPINGATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSAAttributes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def BPPSA_GPUKernel : I32EnumAttr<"GPUKernel", "what the threads of a GPU have of a loop", [
    I32EnumAttrCase<"BlockPerRow", 0, "block_per_row">,
    I32EnumAttrCase<"Cooperative", 1, "cooperative">,
    I32EnumAttrCase<"ThreadPerColumn", 2, "thread_per_column">,
    I32EnumAttrCase<"ColumnTile", 3, "column_tile">,
    I32EnumAttrCase<"BlockPerColumn", 4, "block_per_column">,
    I32EnumAttrCase<"TiledProduct", 5, "tiled_product">,
    I32EnumAttrCase<"ThreadPerElement", 6, "thread_per_element">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_Residence : I32EnumAttr<"Residence", "where the threads of a kernel have matrices", [
    I32EnumAttrCase<"Registers", 0, "registers">,
    I32EnumAttrCase<"Shared", 1, "shared">,
    I32EnumAttrCase<"Memory", 2, "memory">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_GPUMappingAttr : AttrDef<BPPSA_Dialect, "GPUMapping"> {
  let mnemonic = "gpu_mapping";
  let summary = "how a GPU runs a loop, a transition or a sum";
  let description = [{
    `bppsa-choose-gpu-mapping` gives it to operations as `bppsa.mapping`, and `convert-bppsa-to-bgpu`
    reads it and decides nothing itself.

    | kernel | of | what threads have |
    |---|---|---|
    | `block_per_row` | recurrences, chains | a block a sample; `parts` neighbouring threads share a row of every value |
    | `cooperative` | recurrences with states, chains without sums | several blocks a group of samples, which wait for each other; a warp has `rows` rows, and 32 / `rows` samples |
    | `thread_per_column` | transitions | a column has `parts` neighbouring threads of a warp |
    | `column_tile` | transitions | a block has `columns` tiles of 8 columns, on tensor cores, and shares tiles of 16 rows out to its warps |
    | `block_per_column` | transitions | a block a column, as in `block_per_row` |
    | `tiled_product` | recurrences without states that only multiply, outer sums | tiles of the product of all steps on tensor cores |
    | `thread_per_element` | outer sums | a thread an element of the result |

    `threads` are those of a block, `matrices` is where their rows of captured matrices are for all
    steps, and `stages` how many steps asynchronous copies have slots for in shared memory, 0 where
    steps read memory. `precision` is that of products on tensor cores. `offset` maps the offsets of
    transitions of links with injected cotangents, `block_per_column`.

    Example: `#bppsa.gpu_mapping<block_per_row, threads = 64, parts = 2, stages = 8>`
  }];
  let parameters = (ins EnumParameter<BPPSA_GPUKernel>:$kernel, "int64_t":$threads,
                        DefaultValuedParameter<"int64_t", "1">:$parts,
                        DefaultValuedParameter<"int64_t", "0">:$rows,
                        DefaultValuedParameter<"int64_t", "0">:$columns,
                        DefaultValuedParameter<"::bppsa::Residence", "::bppsa::Residence::Registers">:$matrices,
                        DefaultValuedParameter<"int64_t", "0">:$stages,
                        DefaultValuedParameter<"::bppsa::TensorPrecision", "::bppsa::TensorPrecision::FP32">:$precision,
                        OptionalParameter<"::bppsa::GPUMappingAttr">:$offset);
  let assemblyFormat = [{
    `<` $kernel `,` struct($threads, $parts, $rows, $columns, $matrices, $stages, $precision, $offset) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Fails after a diagnostic where kernels of this mapping cannot run `op`.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op);
    /// The text between `<` and `>`.
    std::string toString() const;
    bool is(GPUKernel kernel) const { return getKernel() == kernel; }
    bool keepsMatricesInRegisters() const { return getMatrices() == Residence::Registers; }
  }];
}

def BPPSA_LaneContents : I32EnumAttr<"LaneContents", "what the lanes of a vector hold", [
    I32EnumAttrCase<"Samples", 0, "samples">,
    I32EnumAttrCase<"Units", 1, "units">,
    I32EnumAttrCase<"Chunks", 2, "chunks">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_CPUMappingAttr : AttrDef<BPPSA_Dialect, "CPUMapping"> {
  let mnemonic = "cpu_mapping";
  let summary = "what the vectors of a loop hold on a CPU";
  let description = [{
    `bppsa-choose-mapping` gives it to operations as `bppsa.mapping`, and `bppsa-pack-batch` reads
    it. With `samples`, a vector has the same row of `width` samples; with `units`, the neighbouring
    rows of one sample, as many as a register holds, and arrays are packed with a `width` of 1.
    With `chunks`, of a chain with a plan of chunks, arrays are packed like those of `units`, and
    `bppsa-expand-scan` makes vectors of the same row of `width` chunks of time.

    Example: `#bppsa.cpu_mapping<samples, width = 16>`
  }];
  let parameters = (ins EnumParameter<BPPSA_LaneContents>:$lanes,
                        DefaultValuedParameter<"int64_t", "1">:$width);
  let assemblyFormat = "`<` $lanes (`,` struct($width)^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Fails after a diagnostic where vectors cannot hold this of `op`.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op);
    bool holds(LaneContents contents) const { return getLanes() == contents; }
    /// Samples in one vector of packed arrays.
    int64_t getSamples() const { return holds(LaneContents::Samples) ? getWidth() : 1; }
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAMAPPINGATTRIBUTES
