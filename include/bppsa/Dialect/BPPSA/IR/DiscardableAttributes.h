//===- DiscardableAttributes.h - typed access to annotations ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The attributes that BPPSADialect.td declares, of arguments and results of functions, of
// functions, modules and operations of other dialects: names and types come from there alone.
// docs/Attributes.md says what each of them means.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_DISCARDABLEATTRIBUTES_H
#define BPPSA_DIALECT_BPPSA_IR_DISCARDABLEATTRIBUTES_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace bppsa {

/// Access to the attribute of one of the dialect's generated helpers. What reads gives null where
/// the attribute is not there.
template <typename Helper> struct DiscardableAttribute {
  using Type = decltype(std::declval<Helper &>().getAttr(std::declval<mlir::Operation *>()));

  /// With the name of the dialect: `bppsa.shape`.
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
  /// A unit attribute.
  static mlir::NamedAttribute make(mlir::MLIRContext *context) { return make(Type::get(context)); }
  static void set(mlir::Operation *op, Type value) { op->setDiscardableAttr(getName(), value); }
  static void set(mlir::NamedAttrList &attributes, Type value) { attributes.set(getName(), value); }
  static void setOfArgument(mlir::FunctionOpInterface function, unsigned argument, Type value) {
    function.setArgAttr(argument, getName(), value);
  }
  static void remove(mlir::Operation *op) { op->removeDiscardableAttr(getName()); }
};

namespace attrs {

// What an argument or a result is; the first five hold its name.
using Input = DiscardableAttribute<BPPSADialect::InputAttrHelper>;
using Output = DiscardableAttribute<BPPSADialect::OutputAttrHelper>;
using Parameter = DiscardableAttribute<BPPSADialect::ParameterAttrHelper>;
using Gradient = DiscardableAttribute<BPPSADialect::GradientAttrHelper>;
/// The next value of the running statistic of that name.
using Updated = DiscardableAttribute<BPPSADialect::UpdatedAttrHelper>;
using Loss = DiscardableAttribute<BPPSADialect::LossAttrHelper>;
using Target = DiscardableAttribute<BPPSADialect::TargetAttrHelper>;
using Weight = DiscardableAttribute<BPPSADialect::WeightAttrHelper>;
using Correct = DiscardableAttribute<BPPSADialect::CorrectAttrHelper>;
using Seed = DiscardableAttribute<BPPSADialect::SeedAttrHelper>;

// What else is known of it.
using Carried = DiscardableAttribute<BPPSADialect::CarriedAttrHelper>;
using Frozen = DiscardableAttribute<BPPSADialect::FrozenAttrHelper>;
/// Of a parameter that is a running statistic: steps update it.
using Statistic = DiscardableAttribute<BPPSADialect::StatisticAttrHelper>;
using BatchAxis = DiscardableAttribute<BPPSADialect::BatchAxisAttrHelper>;
using BatchAxes = DiscardableAttribute<BPPSADialect::BatchAxesAttrHelper>;
using TimeAxis = DiscardableAttribute<BPPSADialect::TimeAxisAttrHelper>;
using Shape = DiscardableAttribute<BPPSADialect::ShapeAttrHelper>;
using IndexBounds = DiscardableAttribute<BPPSADialect::IndexBoundsAttrHelper>;
using LengthBounds = DiscardableAttribute<BPPSADialect::LengthBoundsAttrHelper>;
using Nonzeros = DiscardableAttribute<BPPSADialect::NonzerosAttrHelper>;

// Of modules, functions and operations.
using Symbols = DiscardableAttribute<BPPSADialect::SymbolsAttrHelper>;
using MixingLayouts = DiscardableAttribute<BPPSADialect::MixingLayoutsAttrHelper>;
using Lanes = DiscardableAttribute<BPPSADialect::LanesAttrHelper>;
using Source = DiscardableAttribute<BPPSADialect::SourceAttrHelper>;
using OperandJacobians = DiscardableAttribute<jacobian::JacobianDialect::OperandsAttrHelper>;
using Mapping = DiscardableAttribute<BPPSADialect::MappingAttrHelper>;

} // namespace attrs
} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_DISCARDABLEATTRIBUTES_H
