//===- SupportTable.h - what the importer accepts ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// One table says which ops, attributes, inputs and outputs are accepted, and in
// which opsets. The importer checks every node against it before the function
// of the op sees the node; the documentation is printed from it.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTTABLE_H
#define BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTTABLE_H

#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace bppsa {

class Node;

/// Opsets of the default domain that the importer knows.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

/// The opsets in which ONNX defines an op, attribute or operand.
struct OpsetRange {
  int64_t first = kOldestOpset, last = kNewestOpset;

  bool contains(int64_t opset) const { return first <= opset && opset <= last; }
};

enum class AttributeKind { Int, Ints, Float, Floats, String, Strings, Tensor, SparseTensor, Graph };

/// Element types of an operand, as a set. A list of tensors has none of the others.
enum ElementTypes : unsigned { F32 = 1, Integers = 2, Bool = 4, AnyElement = 7, ListOfTensors = 8 };

struct AttributeRule {
  std::string name;
  AttributeKind kind;
  OpsetRange opsets;
  bool isRequired = false;
  /// Known to ONNX, but not supported whatever its value.
  bool isRefused = false;
  /// Accepted values of an Int or String, and of each element of a Strings; any
  /// value if both are empty.
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
  /// Restrictions that no other column can say.
  std::string note;
};

/// Sorted by name.
const std::vector<OpRule> &getSupportTable();

/// Null if the op is not in the table.
const OpRule *findOp(llvm::StringRef name);

/// "int", "list of strings", ...
llvm::StringRef describe(AttributeKind kind);
/// "float, int32 or int64", ...
std::string describe(unsigned elementTypes);
/// The accepted values in words: "0 or 1", "forward, reverse or bidirectional".
std::string describeAccepted(const AttributeRule &rule);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_SUPPORTTABLE_SUPPORTTABLE_H
