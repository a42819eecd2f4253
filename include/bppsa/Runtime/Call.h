//===- Call.h - Calls of compiled functions -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_CALL_H
#define BPPSA_RUNTIME_CALL_H

#include "bppsa/Runtime/ObjectInterface.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bppsa::runtime {

/// Dense memory in C order that a compiled function reads or writes.
struct View {
  void *data = nullptr;
  std::vector<int64_t> shape;
};

/// Views by the names that Model::functions uses: "input:x", "param:w", "loss", ...
using ViewTable = std::map<std::string, View>;

/// A compiled function together with the descriptors of its arguments, ready to be called often.
class Call {
public:
  Call() = default;
  void operator()() { function(pointers.data()); }

private:
  friend class FunctionTable;
  void (*function)(void **) = nullptr;
  std::vector<std::vector<int64_t>> descriptors;
  std::vector<void *> pointers;
};

/// The functions of the program, which run the kernels of one instruction set.
class FunctionTable {
public:
  /// Picks the best instruction set that both the program and this processor have, or the one that
  /// the environment variable BPPSA_ISA names, and sets bppsa_kernels to its kernels. Throws Error
  /// when there is none.
  FunctionTable(const bppsa_function *functions, const bppsa_instruction_set *instructionSets);

  const std::string &isa() const { return chosen; }
  const std::vector<std::string> &isas() const { return all; }

  /// A call of function `name`, whose arguments are the views named `arguments`.
  Call prepare(const std::string &name, const std::vector<std::string> &arguments,
               const ViewTable &views) const;

private:
  std::string chosen;
  std::vector<std::string> all;
  std::map<std::string, void (*)(void **)> table;
};

/// Seconds of a monotonic clock.
double now();

/// When the last compiled step reported the start of its forward and of its backward part.
struct PhaseTimes {
  double forward = 0, backward = 0;
};
PhaseTimes lastPhases();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_CALL_H
