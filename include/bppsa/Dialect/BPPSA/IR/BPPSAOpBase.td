//===- BPPSAOpBase.td - base of bppsa operations -----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAOPBASE
#define BPPSA_DIALECT_BPPSA_IR_BPPSAOPBASE

include "bppsa/Dialect/BPPSA/IR/BPPSAAttributes.td"
include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "bppsa/Dialect/BPPSA/IR/BPPSAInterfaces.td"
include "bppsa/Dialect/Jacobian/IR/JacobianAttributes.td"
include "bppsa/Support/DestinationOps.td"
include "bppsa/Support/KernelTrait.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class BPPSA_Op<string mnemonic, list<Trait> traits = []>
    : Op<BPPSA_Dialect, mnemonic, traits>;

/// An op on arrays, which are tensors or, once bufferized, memrefs. It becomes one loop nest.
class BPPSA_ArrayOp<string mnemonic, list<Trait> traits = []>
    : BPPSA_Op<mnemonic, !listconcat(traits, [
        BPPSA_Kernel, BPPSA_DestinationOpInterface, MemoryEffectsOpInterface,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>])>;

/// The operands that have lanes, in C++.
def BPPSA_PackedOperands : DeclareOpInterfaceMethods<BPPSA_PackableOpInterface, ["getPackedOperands"]>;

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAOPBASE
