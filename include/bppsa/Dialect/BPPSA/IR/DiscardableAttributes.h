//===- DiscardableAttributes.h - typed attribute access ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Typed access to the discardable attributes of BPPSADialect.td (docs/Reference/Attributes.md).
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_DISCARDABLEATTRIBUTES_H
#define BPPSA_DIALECT_BPPSA_IR_DISCARDABLEATTRIBUTES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace bppsa {

/// Getters return null if the attribute is absent.
template <typename Helper> struct DiscardableAttribute {
  using Type = decltype(std::declval<Helper &>().getAttr(std::declval<mlir::Operation *>()));

  static constexpr llvm::StringLiteral getName() { return Helper::getNameStr(); }

  static Type of(mlir::Operation *op) { return op->getAttrOfType<Type>(getName()); }
  static Type ofArgument(mlir::FunctionOpInterface function, unsigned argument) {
    return function.getArgAttrOfType<Type>(argument, getName());
  }
  static Type ofResult(mlir::FunctionOpInterface function, unsigned result) {
    return function.getResultAttrOfType<Type>(result, getName());
  }
  /// `attributes` may be null.
  static Type in(mlir::DictionaryAttr attributes) {
    return attributes ? attributes.getAs<Type>(getName()) : Type();
  }
  static Type in(const mlir::NamedAttrList &attributes) {
    return llvm::dyn_cast_or_null<Type>(attributes.get(getName()));
  }

  static mlir::NamedAttribute make(Type value) { return {getName(), value}; }
  static mlir::NamedAttribute make(mlir::MLIRContext *context) { return make(Type::get(context)); }
  static void set(mlir::Operation *op, Type value) { op->setDiscardableAttr(getName(), value); }
  static void set(mlir::NamedAttrList &attributes, Type value) { attributes.set(getName(), value); }
  static void setOfArgument(mlir::FunctionOpInterface function, unsigned argument, Type value) {
    function.setArgAttr(argument, getName(), value);
  }
  static void remove(mlir::Operation *op) { op->removeDiscardableAttr(getName()); }
};

namespace attrs {

// Roles of an argument or result; the first five hold its name.
using Input = DiscardableAttribute<BPPSADialect::InputAttrHelper>;
using Output = DiscardableAttribute<BPPSADialect::OutputAttrHelper>;
using Parameter = DiscardableAttribute<BPPSADialect::ParameterAttrHelper>;
using Gradient = DiscardableAttribute<BPPSADialect::GradientAttrHelper>;
using Updated = DiscardableAttribute<BPPSADialect::UpdatedAttrHelper>;
using Loss = DiscardableAttribute<BPPSADialect::LossAttrHelper>;
using Target = DiscardableAttribute<BPPSADialect::TargetAttrHelper>;
using Weight = DiscardableAttribute<BPPSADialect::WeightAttrHelper>;
using Correct = DiscardableAttribute<BPPSADialect::CorrectAttrHelper>;
using Seed = DiscardableAttribute<BPPSADialect::SeedAttrHelper>;

using Carried = DiscardableAttribute<BPPSADialect::CarriedAttrHelper>;
using Frozen = DiscardableAttribute<BPPSADialect::FrozenAttrHelper>;
using Statistic = DiscardableAttribute<BPPSADialect::StatisticAttrHelper>;
using BatchAxis = DiscardableAttribute<BPPSADialect::BatchAxisAttrHelper>;
using BatchAxes = DiscardableAttribute<BPPSADialect::BatchAxesAttrHelper>;
using TimeAxis = DiscardableAttribute<BPPSADialect::TimeAxisAttrHelper>;
using Shape = DiscardableAttribute<BPPSADialect::ShapeAttrHelper>;
using IndexBounds = DiscardableAttribute<BPPSADialect::IndexBoundsAttrHelper>;
using LengthBounds = DiscardableAttribute<BPPSADialect::LengthBoundsAttrHelper>;
using Nonzeros = DiscardableAttribute<BPPSADialect::NonzerosAttrHelper>;

using Symbols = DiscardableAttribute<BPPSADialect::SymbolsAttrHelper>;
using MixingLayouts = DiscardableAttribute<BPPSADialect::MixingLayoutsAttrHelper>;
using Lanes = DiscardableAttribute<BPPSADialect::LanesAttrHelper>;
using Source = DiscardableAttribute<BPPSADialect::SourceAttrHelper>;
using OperandJacobians = DiscardableAttribute<jacobian::JacobianDialect::OperandsAttrHelper>;
using Mapping = DiscardableAttribute<BPPSADialect::MappingAttrHelper>;

} // namespace attrs
} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_DISCARDABLEATTRIBUTES_H
