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
include "bppsa/Support/KernelTrait.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class BPPSA_Op<string mnemonic, list<Trait> traits = []>
    : Op<BPPSA_Dialect, mnemonic, traits>;

def BPPSA_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef], "ranked tensor or memref">;

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAOPBASE
