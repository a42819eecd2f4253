//===- Call.h - Calls of compiled functions -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_CALL_H
#define BPPSA_RUNTIME_CALL_H

#include "bppsa/Runtime/CompiledErrors.h"
#include "bppsa/Runtime/Device/DeviceMirror.h"
#include "bppsa/Runtime/Model.h"
#include "bppsa/Runtime/ObjectInterface.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bppsa::runtime {

enum class Access { Read, Write, ReadWrite };

struct View {
  void *data = nullptr;
  std::vector<int64_t> shape;
  uint64_t elementSize = sizeof(float);
  Access access = Access::Read;
  /// Null if calls copy the memory as needed. Must outlive the calls.
  DeviceMirror *mirror = nullptr;
};

/// Keyed by argument name, as in Model::functions.
using ViewTable = std::map<std::string, View>;

/// A compiled function with its argument descriptors, which refer to device copies in a device
/// program.
class Call {
public:
  Call() = default;
  void operator()() {
    start();
    if (results)
      wait();
  }
  /// Rebinds argument `number` to `data` of the same size. CPU programs only.
  void bind(size_t number, void *data) {
    descriptors[number][0] = descriptors[number][1] = reinterpret_cast<intptr_t>(data);
  }
  void *data(size_t number) const { return reinterpret_cast<void *>(descriptors[number][1]); }
  uint64_t arenaBytes() const { return arena; }
  /// Results of a device program are valid only after Device::synchronize().
  void start() {
    if (throwsFailures())
      startCatching();
    else
      enter();
  }

private:
  friend class FunctionTable;
  struct Transfer {
    DeviceMirror *mirror;
    Access access;
    bool eachCall;
  };
  void addArgument(const View &view);
  void enter() {
    if (transfers.empty())
      function(pointers.data());
    else
      startOnDevice();
  }
  void startCatching();
  void startOnDevice();
  void toDevice();
  void toHost();
  static void wait();
  void reserveArena() const;

  void (*function)(void **) = nullptr;
  uint64_t arena = 0;
  std::vector<std::vector<int64_t>> descriptors;
  std::vector<void *> pointers;
  std::vector<Transfer> transfers;
  std::vector<std::unique_ptr<DeviceMirror>> mirrors;
  bool results = false;
};

/// Loads the code of a function on first use. Returns false and sets `error` on failure. Must be
/// thread-safe.
using FunctionLoader =
    std::function<bool(const std::string &name, bppsa_function &function, std::string &error)>;

/// The functions of a program, with kernels for one instruction set.
class FunctionTable {
public:
  /// Selects the best supported instruction set, or BPPSA_ISA, and sets `kernelsInUse` to its
  /// kernels. `load` provides the code of functions that have none, which use no arena.
  FunctionTable(const bppsa_function *functions, const bppsa_instruction_set *instructionSets,
                const void *const **kernelsInUse, FunctionLoader load = nullptr);

  bool isLazy() const { return static_cast<bool>(load); }
  const std::string &isa() const { return chosen; }
  const std::vector<std::string> &isas() const { return all; }

  /// Prepares a call on the named `arguments`, with sizes given by `symbols`.
  Call prepare(const std::string &name, const std::vector<std::string> &arguments,
               const ViewTable &views, const Symbols &symbols) const;
  uint64_t arenaBytes(const std::string &name, const Symbols &symbols) const;
  /// Returns an upper bound for the argument `residuals`; 0 if there is none.
  uint64_t residualBytes(const std::string &name, const Symbols &symbols) const;

private:
  bppsa_function find(const std::string &name) const;

  std::string chosen;
  std::vector<std::string> all;
  std::map<std::string, bppsa_function> table;
  FunctionLoader load;
};

double now();

/// Start times of the last step in a CPU program. Device programs use Device::mark().
struct PhaseTimes {
  double forward = 0, backward = 0;
};
PhaseTimes lastPhases();

/// Returns and clears the residual size last reported by compiled code on this thread.
std::optional<uint64_t> takeReportedResiduals();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_CALL_H
