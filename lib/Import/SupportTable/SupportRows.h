//===- SupportRows.h - writes rows of the support table ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTROWS_H
#define BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTROWS_H

#include "../Ops/OpImporters.h"
#include "SupportTable.h"
#include "llvm/ADT/StringRef.h"

namespace bppsa {

inline const std::vector<int64_t> zeroOrOne = {0, 1};

class Row {
public:
  Row(llvm::StringRef name, mlir::LogicalResult (*import)(Node &), OpsetRange opsets = {}) {
    rule.name = name.str();
    rule.import = import;
    rule.opsets = opsets;
  }
  operator OpRule() const { return rule; }

  Row &in(llvm::StringRef name, unsigned types = F32, OpsetRange opsets = {}) {
    rule.inputs.push_back({name.str(), OperandStatus::Required, types, opsets});
    return *this;
  }
  Row &optional(llvm::StringRef name, unsigned types = F32, OpsetRange opsets = {}) {
    rule.inputs.push_back({name.str(), OperandStatus::Optional, types, opsets});
    return *this;
  }
  Row &variadic(llvm::StringRef name, unsigned types = AnyElement) {
    rule.inputs.push_back({name.str(), OperandStatus::Variadic, types, {}});
    return *this;
  }

  Row &out(llvm::StringRef name) {
    rule.outputs.push_back({name.str(), OperandStatus::Required, AnyElement, {}});
    return *this;
  }
  Row &optionalOut(llvm::StringRef name) {
    rule.outputs.push_back({name.str(), OperandStatus::Optional, AnyElement, {}});
    return *this;
  }
  Row &variadicOut(llvm::StringRef name) {
    rule.outputs.push_back({name.str(), OperandStatus::Variadic, AnyElement, {}});
    return *this;
  }

  Row &attr(llvm::StringRef name, AttributeKind kind, OpsetRange opsets = {}) {
    rule.attributes.push_back({name.str(), kind, opsets, false, false, {}, {}});
    return *this;
  }
  Row &required() {
    rule.attributes.back().isRequired = true;
    return *this;
  }
  Row &requiring(llvm::StringRef name) {
    for (AttributeRule &attribute : rule.attributes)
      attribute.isRequired |= attribute.name == name;
    return *this;
  }
  Row &accepts(std::vector<int64_t> values) {
    rule.attributes.back().integers = std::move(values);
    return *this;
  }
  Row &accepts(std::vector<std::string> values) {
    rule.attributes.back().strings = std::move(values);
    return *this;
  }
  Row &refused(llvm::StringRef name, AttributeKind kind, OpsetRange opsets = {}) {
    rule.attributes.push_back({name.str(), kind, opsets, false, true, {}, {}});
    return *this;
  }

  Row &note(llvm::StringRef text) {
    rule.note = text.str();
    return *this;
  }

  Row &windowed(OpsetRange dilations = {}) {
    using Kind = AttributeKind;
    return attr("auto_pad", Kind::String)
        .accepts(std::vector<std::string>{"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"})
        .attr("dilations", Kind::Ints, dilations)
        .attr("kernel_shape", Kind::Ints)
        .attr("pads", Kind::Ints)
        .attr("strides", Kind::Ints);
  }

private:
  OpRule rule;
};

void addActivationRows(std::vector<OpRule> &table);
void addControlRows(std::vector<OpRule> &table);
void addElementwiseRows(std::vector<OpRule> &table);
void addIndexRows(std::vector<OpRule> &table);
void addRecurrentRows(std::vector<OpRule> &table);
void addReductionRows(std::vector<OpRule> &table);
void addSequenceRows(std::vector<OpRule> &table);
void addShapeRows(std::vector<OpRule> &table);
void addTransformRows(std::vector<OpRule> &table);
void addWindowRows(std::vector<OpRule> &table);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTROWS_H
