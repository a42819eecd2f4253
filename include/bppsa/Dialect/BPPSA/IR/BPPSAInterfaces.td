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
    A reverse-mode differentiation rule: the vector-Jacobian product of one op.
    Rules of upstream ops are attached as external models.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds, at the insertion point of `builder`, the cotangents of the
        operands from the cotangents of the results.

        `resultCotangents` has one entry a result, null where the cotangent is
        zero (never all of them). The rule sets `operandCotangents[i]` (which
        arrives null) for every operand with `needed[i]` whose cotangent is not
        zero; a set value has exactly the operand's type. The values that the
        regions of the op capture from above count as further operands, in
        order of first use. Operands and results of the op itself may be used:
        the op dominates the insertion point. A rule may replace the op by one
        that computes more results.
        Fails, after emitting an error on the op, where no rule is known.
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
    An op with one result that may stand in the body of a time loop in row-wise form. Values are
    vectors; a row is one element of a vector, of one sample or of a SIMD vector of samples. What
    passes, lowerings and costs need to know of such an op, they ask here. Ops of `arith`, `math`
    and `vector` have external models (CellOpModels.cpp), and elementwise ones of `arith` and `math`
    need none of their own.
  }];
  let methods = [
    InterfaceMethod<"The work that a row of the result takes.",
      "::bppsa::CellWork", "getWork">,
    InterfaceMethod<"The rows of operand number `operand` that a row of the result needs.",
      "::bppsa::RowAccess", "getRowAccess", (ins "unsigned":$operand), "",
      "return ::bppsa::RowAccess::Same;">,
    InterfaceMethod<[{
        The derivative of a row of the result with respect to the same row of operand number
        `operand`. Meaningful for elementwise ops; of others what it says holds for no row.
      }],
      "::bppsa::CellSlope", "getSlope", (ins "unsigned":$operand), "",
      "return ::bppsa::CellSlope::Opaque;">,
    InterfaceMethod<[{
        Builds `scale`, or one where it is null, times the derivative with respect to operand number
        `operand`, which is `CellSlope::ByOthers` or `ByCondition`. `others` maps the other operands to the values to
        use.
      }],
      "::mlir::Value", "scaleBySlope",
      (ins "::mlir::OpBuilder &":$builder, "unsigned":$operand, "::mlir::Value":$scale,
           "const ::mlir::IRMapping &":$others), "",
      [{ ::llvm::report_fatal_error("an op without slopes by others was asked for one"); }]>,
    InterfaceMethod<[{
        Builds one row of the result, a value of `type` (an element, or a vector of lanes), and gives
        its value. `rows` reads those of operands. Not for ops that read all rows of an operand.
      }],
      "::mlir::Value", "emitRow",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Type":$type, "const ::bppsa::RowReader &":$rows),
      "", "return ::bppsa::cloneForRow(builder, $_op, type, rows);">,
    InterfaceMethod<[{
        An element of the result in float64, given those of the operands. Nothing where the op is
        evaluated in another way.
      }],
      "std::optional<double>", "evaluate", (ins "::llvm::ArrayRef<double>":$operands), "",
      "return std::nullopt;">,
  ];
  let extraSharedClassDeclaration = [{
    /// Whether row n of the result needs row n of each operand alone.
    bool isRowWise() { return ::bppsa::isRowWise($_op); }
    /// Whether computing a row again costs about as much as to store and load it.
    bool isRecomputable() { return $_op.getWork() <= ::bppsa::CellWork::Simple; }
    /// FLOPs of the whole result; moves of data are free.
    int64_t countFlops() { return ::bppsa::countFlops($_op); }
  }];
}

def BPPSA_PackableOpInterface : OpInterface<"PackableOpInterface"> {
  let cppNamespace = "::bppsa";
  let description = [{
    An op on the samples of a batch whose arrays, or some of them, may be packed: with samples in
    SIMD lanes (see `pack_lanes`).
  }];
  let methods = [
    InterfaceMethod<"The number of lanes; nothing where arrays are not packed.",
      "std::optional<uint64_t>", "getLanes">,
    InterfaceMethod<"Says that arrays are packed into `lanes` lanes.",
      "void", "setPackedInto", (ins "uint64_t":$lanes), "",
      "$_op.setLanesAttr(::mlir::Builder($_op->getContext()).getI64IntegerAttr(lanes));">,
  ];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAINTERFACES
