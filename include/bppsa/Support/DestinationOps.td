//===- DestinationOps.td - ops that write destinations -----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_DESTINATIONOPS
#define BPPSA_SUPPORT_DESTINATIONOPS

include "mlir/IR/OpBase.td"

def BPPSA_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef], "ranked tensor or memref">;

def BPPSA_DestinationOpInterface : OpInterface<"DestinationOpInterface"> {
  let cppNamespace = "::bppsa";
  let description = [{
    An op that writes each of its results to memory. Once bufferized it has no results; its last
    operands are the destinations, one for each result. On tensors the destinations may be left
    out, and bufferization then allocates them.

    `DestinationStyleOpInterface` requires a destination for each tensor result. Ops that always
    have one implement both interfaces.
  }];
  let methods = [
    InterfaceMethod<"Returns the destinations. There may be none on tensors.",
      "::mlir::MutableOperandRange", "getDestinationsMutable", (ins), "",
      "return $_op.getDestinationMutable();">,
    InterfaceMethod<[{
        Returns whether the op adds to its destinations. Otherwise it overwrites them.
      }],
      "bool", "addsToDestinations", (ins), "", "return false;">,
  ];
  let extraTraitClassDeclaration = [{
    /// Implements `MemoryEffectOpInterface` for ops that also have it.
    void getEffects(::llvm::SmallVectorImpl<::mlir::SideEffects::EffectInstance<
                        ::mlir::MemoryEffects::Effect>> &effects) {
      ::bppsa::addDestinationEffects(this->getOperation(), effects);
    }
    /// Implements `DestinationStyleOpInterface` for ops that also have it.
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return static_cast<ConcreteOp *>(this)->getDestinationsMutable();
    }
  }];
}

#endif // BPPSA_SUPPORT_DESTINATIONOPS
