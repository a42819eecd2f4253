//===- SupportTable.h - supported ops and attributes ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The importer checks every node against this table, and the documentation is generated from it.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTTABLE_H
#define BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTTABLE_H

#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace bppsa {

class Node;

/// Supported opsets of the default domain.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

/// The opsets in which ONNX defines an op, attribute or operand.
struct OpsetRange {
  int64_t first = kOldestOpset, last = kNewestOpset;

  bool contains(int64_t opset) const { return first <= opset && opset <= last; }
};

enum class AttributeKind { Int, Ints, Float, Floats, String, Strings, Tensor, SparseTensor, Graph };

/// A set of element types of an operand. A list of tensors has no other element type.
enum ElementTypes : unsigned { F32 = 1, Integers = 2, Bool = 4, AnyElement = 7, ListOfTensors = 8 };

struct AttributeRule {
  std::string name;
  AttributeKind kind;
  OpsetRange opsets;
  bool isRequired = false;
  /// Defined by ONNX but rejected regardless of its value.
  bool isRefused = false;
  /// Accepted values of an Int or String, and of each element of a Strings; any value if both are
  /// empty.
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
};

enum class OperandStatus { Required, Optional, Variadic };

struct OperandRule {
  std::string name;
  OperandStatus status;
  unsigned elementTypes;
  OpsetRange opsets;
};

struct OpRule {
  std::string name;
  OpsetRange opsets;
  mlir::LogicalResult (*import)(Node &node);
  std::vector<AttributeRule> attributes;
  std::vector<OperandRule> inputs;
  std::vector<OperandRule> outputs;
  /// Restrictions that the other members cannot express.
  std::string note;
};

const std::vector<OpRule> &getSupportTable();

const OpRule *findOp(llvm::StringRef name);

/// Returns "int", "list of strings", ...
llvm::StringRef describe(AttributeKind kind);
std::string describe(unsigned elementTypes);
std::string describeAccepted(const AttributeRule &rule);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTTABLE_H
