//===- BPPSAInterfaces.td - bppsa op interfaces ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAINTERFACES
#define BPPSA_DIALECT_BPPSA_IR_BPPSAINTERFACES

include "mlir/IR/OpBase.td"

def BPPSA_VJPOpInterface : OpInterface<"VJPOpInterface"> {
  let cppNamespace = "::bppsa";
  let description = [{
    Reverse-mode differentiation rule: the vector-Jacobian product (VJP) of one op. Rules for
    upstream ops are attached as external models.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the cotangents of the operands from the cotangents of the results, at the insertion
        point of `builder`. The op dominates the insertion point, so its operands and results may be
        used. A rule may replace the op by one that computes additional results.

        * `resultCotangents` has one entry per result. Null means zero; at least one entry is set.
        * `operandCotangents[i]` arrives null. The rule sets it for every operand with `needed[i]`
          whose cotangent is not zero, to a value of exactly the operand's type.
        * Values that regions of the op capture from above count as additional operands, in order of
          first use.

        Emits an error on the op and fails if no rule is known.
      }],
      "::llvm::LogicalResult", "buildVJP",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultCotangents,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandCotangents)>,
  ];
}

def BPPSA_CellOpInterface : OpInterface<"CellOpInterface"> {
  let cppNamespace = "::bppsa";
  let description = [{
    An op with one result that may occur in the body of a time loop in row-wise form. Values are
    vectors. A row is one element of a vector, for one sample or for a SIMD vector of samples. Ops
    of `arith`, `math` and `vector` have external models (CellOpModels.cpp).
  }];
  let methods = [
    InterfaceMethod<"Returns the work to compute one row of the result.",
      "::bppsa::CellWork", "getWork">,
    InterfaceMethod<"Returns which rows of operand number `operand` a row of the result reads.",
      "::bppsa::RowAccess", "getRowAccess", (ins "unsigned":$operand), "",
      "return ::bppsa::RowAccess::Same;">,
    InterfaceMethod<[{
        Returns the derivative of a row of the result with respect to the same row of operand number
        `operand`. Meaningful only for elementwise ops.
      }],
      "::bppsa::CellSlope", "getSlope", (ins "unsigned":$operand), "",
      "return ::bppsa::CellSlope::Opaque;">,
    InterfaceMethod<[{
        Builds the derivative with respect to operand number `operand`, multiplied by `scale` unless
        `scale` is null. The slope must be `CellSlope::ByOthers` or `ByCondition`. `others` maps the
        other operands to the values to use.
      }],
      "::mlir::Value", "scaleBySlope",
      (ins "::mlir::OpBuilder &":$builder, "unsigned":$operand, "::mlir::Value":$scale,
           "const ::mlir::IRMapping &":$others), "",
      [{ ::llvm::report_fatal_error("an op without slopes by others was asked for one"); }]>,
    InterfaceMethod<[{
        Builds one row of the result, a value of `type` (an element, or a vector of lanes), and
        returns it. `rows` reads the rows of operands. Not for ops that read all rows of an operand.
      }],
      "::mlir::Value", "emitRow",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Type":$type, "const ::bppsa::RowReader &":$rows),
      "", "return ::bppsa::cloneForRow(builder, $_op, type, rows);">,
    InterfaceMethod<[{
        Evaluates an element of the result in float64 from the elements of the operands. Returns
        nullopt if the op cannot be evaluated element by element.
      }],
      "std::optional<double>", "evaluate", (ins "::llvm::ArrayRef<double>":$operands), "",
      "return std::nullopt;">,
  ];
  let extraSharedClassDeclaration = [{
    /// Returns true if row n of the result depends only on row n of each operand.
    bool isRowWise() { return ::bppsa::isRowWise($_op); }
    /// Returns true if recomputing a row costs about as much as storing and loading it.
    bool isRecomputable() { return $_op.getWork() <= ::bppsa::CellWork::Simple; }
    /// Returns the FLOPs to compute the whole result; data movement is free.
    int64_t countFlops() { return ::bppsa::countFlops($_op); }
  }];
}

def BPPSA_PackableOpInterface : OpInterface<"PackableOpInterface"> {
  let cppNamespace = "::bppsa";
  let description = [{
    An op on the samples of a batch. Some or all of its arrays may be packed, with samples in SIMD
    lanes (see `pack_lanes`).
  }];
  let methods = [
    InterfaceMethod<"Returns the number of lanes, or nullopt if arrays are not packed.",
      "std::optional<uint64_t>", "getLanes">,
    InterfaceMethod<[{
        Returns the operands whose last dimension holds the lanes and is dropped by the lowering if
        there is one lane.
      }],
      "::llvm::SmallVector<::mlir::OpOperand *>", "getPackedOperands", (ins), "", "return {};">,
    InterfaceMethod<"Marks the arrays as packed into `lanes` lanes.",
      "void", "setPackedInto", (ins "uint64_t":$lanes), "",
      "$_op.setLanesAttr(::mlir::Builder($_op->getContext()).getI64IntegerAttr(lanes));">,
  ];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAINTERFACES
