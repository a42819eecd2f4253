//===- BPPSATaskAttributes.td - what one thread takes ------*- tablegen -*-===//
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
  let summary = "how many samples of a time loop one thread of a CPU takes together";
  let description = [{
    `bppsa-choose-task-mapping` gives it to packed time loops on memory as `bppsa.mapping`. Over
    units, samples that are taken together share each vector of a matrix that is read; with samples
    in lanes, vectors of samples share each entry. A thread takes up to `most` of them, a power of
    two, and fewer where other threads would have nothing to do or registers do not suffice. In
    a loop without states, steps are taken together in place of samples.

    Example: `#bppsa.task_mapping<most = 4>`
  }];
  let parameters = (ins "int64_t":$most);
  let assemblyFormat = "`<` struct($most) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Fails after a diagnostic where no thread can take samples of `op` together.
    ::llvm::LogicalResult verifyOn(::mlir::Operation *op);
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSATASKATTRIBUTES
