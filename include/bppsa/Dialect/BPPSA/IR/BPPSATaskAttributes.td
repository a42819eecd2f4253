//===- BPPSATaskAttributes.td - work per CPU thread --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSATASKATTRIBUTES
#define BPPSA_DIALECT_BPPSA_IR_BPPSATASKATTRIBUTES

include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "mlir/IR/AttrTypeBase.td"

def BPPSA_TaskMappingAttr : AttrDef<BPPSA_Dialect, "TaskMapping"> {
  let mnemonic = "task_mapping";
  let summary = "Number of samples of a time loop that one CPU thread processes together";
  let description = [{
    `bppsa-choose-task-mapping` attaches this attribute as `bppsa.mapping` to packed time loops on
    memory. A thread processes up to `most` samples together, a power of two, and fewer if other
    threads would be idle or registers do not suffice. In a loop without states a thread processes
    several steps together instead.

    Example: `#bppsa.task_mapping<most = 4>`
  }];
  let parameters = (ins "int64_t":$most);
  let assemblyFormat = "`<` struct($most) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Emits an error and fails if a thread cannot process several samples of `op` together.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op);
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSATASKATTRIBUTES
