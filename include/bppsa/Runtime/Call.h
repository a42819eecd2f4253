//===- Call.h - Calls of compiled functions -------------------------------------===//
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

/// What a compiled function does with an argument.
enum class Access { Read, Write, ReadWrite };

/// Dense memory in C order that a compiled function reads or writes.
struct View {
  void *data = nullptr;
  std::vector<int64_t> shape;
  uint64_t elementSize = sizeof(float);
  Access access = Access::Read;
  /// Knows where the memory is on the device, and outlives the calls. Without one, a call copies
  /// what the function reads to the device, and what it writes back.
  DeviceMirror *mirror = nullptr;
};

/// Views by the names that Model::functions uses: "input:x", "param:w", "loss", ...
using ViewTable = std::map<std::string, View>;

/// A compiled function together with the descriptors of its arguments, ready to be called often. In
/// a device program the arguments are the device's copies.
class Call {
public:
  Call() = default;
  /// Runs the function; when this returns, its results are there.
  void operator()() {
    start();
    if (results)
      wait();
  }
  /// Lets argument `number`, which the host has in `data` from now on, be read and written there:
  /// of the size that it had. For programs for CPUs.
  void bind(size_t number, void *data) {
    descriptors[number][0] = descriptors[number][1] = reinterpret_cast<intptr_t>(data);
  }
  /// Where argument `number` is.
  void *data(size_t number) const { return reinterpret_cast<void *>(descriptors[number][1]); }
  /// Bytes of its temporaries in the arena.
  uint64_t arenaBytes() const { return arena; }
  /// Like the call, but in a device program the results are there after Device::synchronize() only.
  void start() {
    if (throwsFailures())
      startCatching();
    else
      enter();
  }

private:
  friend class FunctionTable;
  /// What has to be copied for an argument.
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
  /// Empty in CPU programs.
  std::vector<Transfer> transfers;
  std::vector<std::unique_ptr<DeviceMirror>> mirrors;
  /// Whether calls copy something to the host.
  bool results = false;
};

/// Gives function `name` of a program its code, when a call of it is prepared. Returns whether that
/// was possible; else `error` says why not. May be called by several threads at a time.
using FunctionLoader =
    std::function<bool(const std::string &name, bppsa_function &function, std::string &error)>;

/// The functions of the program, which run the kernels of one instruction set.
class FunctionTable {
public:
  /// Picks the best instruction set that both the program and this processor have, or the one that
  /// the environment variable BPPSA_ISA names, and sets `kernelsInUse`, which is the program's
  /// bppsa_kernels, to its kernels. Throws Error when there is none. Functions without code get it
  /// from `load`; they have no arena.
  FunctionTable(const bppsa_function *functions, const bppsa_instruction_set *instructionSets,
                const void *const **kernelsInUse, FunctionLoader load = nullptr);

  /// Whether functions get their code when they are first called.
  bool isLazy() const { return static_cast<bool>(load); }
  const std::string &isa() const { return chosen; }
  const std::vector<std::string> &isas() const { return all; }

  /// A call of function `name`, whose arguments are the views named `arguments`, of sizes that
  /// `symbols` say.
  Call prepare(const std::string &name, const std::vector<std::string> &arguments,
               const ViewTable &views, const Symbols &symbols) const;
  /// The bytes that function `name` takes from the arena.
  uint64_t arenaBytes(const std::string &name, const Symbols &symbols) const;
  /// The most bytes that function `name` writes to its argument `residuals`; 0 where it has none.
  uint64_t residualBytes(const std::string &name, const Symbols &symbols) const;

private:
  /// Throws Error where there is none, or no code for it.
  bppsa_function find(const std::string &name) const;

  std::string chosen;
  std::vector<std::string> all;
  std::map<std::string, bppsa_function> table;
  FunctionLoader load;
};

/// Seconds of a monotonic clock.
double now();

/// When the last compiled step of a CPU program reported the start of its forward and of its
/// backward part. In a device program the device has marks instead.
struct PhaseTimes {
  double forward = 0, backward = 0;
};
PhaseTimes lastPhases();

/// The bytes that compiled code of this thread has said its residuals take, since this was called
/// last.
std::optional<uint64_t> takeReportedResiduals();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_CALL_H
