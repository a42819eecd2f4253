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

def BPPSA_GPUKernel : I32EnumAttr<"GPUKernel", "GPU kernel that runs a loop", [
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

def BPPSA_Residence : I32EnumAttr<"Residence", "memory that holds the captured matrices of a kernel", [
    I32EnumAttrCase<"Registers", 0, "registers">,
    I32EnumAttrCase<"Shared", 1, "shared">,
    I32EnumAttrCase<"Memory", 2, "memory">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_GPUMappingAttr : AttrDef<BPPSA_Dialect, "GPUMapping"> {
  let mnemonic = "gpu_mapping";
  let summary = "Mapping of a loop, a transition or a sum to a GPU kernel";
  let description = [{
    `bppsa-choose-gpu-mapping` sets this attribute of operations, `bppsa.mapping`;
    `convert-bppsa-to-bgpu` reads it.

    | kernel | used for | distribution |
    |---|---|---|
    | `block_per_row` | recurrences, chains | one block per sample; `parts` neighbouring threads share each row of a vector |
    | `cooperative` | recurrences with states, chains without sums | several blocks per group of samples, with grid barriers; a warp computes `rows` rows of 32 / `rows` samples |
    | `thread_per_column` | transitions | `parts` neighbouring threads of a warp per column |
    | `column_tile` | transitions | `columns` tiles of 8 columns per block, on tensor cores; warps share the tiles of 16 rows |
    | `block_per_column` | transitions | one block per column, mapped as in `block_per_row` |
    | `tiled_product` | recurrences without states that only multiply, outer sums | one product over all steps, tiled for tensor cores |
    | `thread_per_element` | outer sums | one thread per element of the result |

    * `threads`: threads per block.
    * `matrices`: memory that holds the captured matrices for all steps.
    * `stages`: steps for which asynchronous copies have slots in shared memory; 0 reads device
      memory in each step.
    * `precision`: precision of tensor-core products.
    * `offset`: mapping of the offset of transitions with injected cotangents, a `block_per_column`.

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
    /// Returns whether ops of the type of `op` can have such a mapping.
    static bool canMap(::mlir::Operation *op);
    /// Emits an error and fails if a kernel with this mapping cannot run `op`.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op);
    /// Returns the text between `<` and `>`.
    std::string toString() const;
    bool is(GPUKernel kernel) const { return getKernel() == kernel; }
    bool keepsMatricesInRegisters() const { return getMatrices() == Residence::Registers; }
  }];
}

def BPPSA_LaneContents : I32EnumAttr<"LaneContents", "dimension in the SIMD lanes of a vector", [
    I32EnumAttrCase<"Samples", 0, "samples">,
    I32EnumAttrCase<"Units", 1, "units">,
    I32EnumAttrCase<"Chunks", 2, "chunks">]> {
  let cppNamespace = "::bppsa";
  let genSpecializedAttr = 0;
}

def BPPSA_CPUMappingAttr : AttrDef<BPPSA_Dialect, "CPUMapping"> {
  let mnemonic = "cpu_mapping";
  let summary = "Assignment of a loop's dimensions to SIMD lanes";
  let description = [{
    `bppsa-choose-cpu-mapping` sets this attribute of operations, `bppsa.mapping`;
    `bppsa-pack-batch` reads it.

    * `samples`: a vector holds one hidden unit of `width` samples.
    * `units`: a vector holds neighbouring hidden units of one sample, as many as fit a register.
      Arrays are packed with a `width` of 1.
    * `chunks`, for chains with a `chunked` plan: arrays are packed as for `units`, and
      `bppsa-expand-scan` forms vectors with one hidden unit of `width` chunks of time.

    Example: `#bppsa.cpu_mapping<samples, width = 16>`
  }];
  let parameters = (ins EnumParameter<BPPSA_LaneContents>:$lanes,
                        DefaultValuedParameter<"int64_t", "1">:$width);
  let assemblyFormat = "`<` $lanes (`,` struct($width)^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns whether ops of the type of `op` can have such a mapping.
    static bool canMap(::mlir::Operation *op);
    /// Emits an error and fails if `op` cannot be vectorized in this way.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op);
    bool holds(LaneContents contents) const { return getLanes() == contents; }
    /// Returns the number of samples per vector of packed arrays.
    int64_t getSamples() const { return holds(LaneContents::Samples) ? getWidth() : 1; }
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAMAPPINGATTRIBUTES
