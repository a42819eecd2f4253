//===- Call.cpp - Calls of compiled functions -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Call.h"
#include "Distributed/StepPorts.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

using namespace bppsa::runtime;

/// Best first; every processor supports the last one.
static const char *const knownIsas[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};

static bool processorHas(const std::string &isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
  if (isa == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  return __builtin_cpu_supports("x86-64-v2");
#else
  return false;
#endif
}

FunctionTable::FunctionTable(const bppsa_function *functions,
                             const bppsa_instruction_set *instructionSets,
                             const void *const **kernelsInUse, FunctionLoader load)
    : load(std::move(load)) {
  std::map<std::string, const void *const *> kernels;
  for (const bppsa_instruction_set *set = instructionSets; set->name; ++set) {
    all.push_back(set->name);
    kernels[set->name] = set->kernels;
  }
  if (const char *forced = getenv("BPPSA_ISA"); forced && *forced) {
    if (!kernels.count(forced))
      fail("BPPSA_ISA: found ", quote(forced), ", this program holds ", list(all));
    if (!processorHas(forced))
      fail("BPPSA_ISA: this processor does not have ", quote(forced));
    chosen = forced;
  }
  for (const char *isa : knownIsas)
    if (chosen.empty() && kernels.count(isa) && processorHas(isa))
      chosen = isa;
  if (chosen.empty())
    fail("this processor has none of the instruction sets ", list(all),
         "; compile the model for it");
  *kernelsInUse = kernels[chosen];
  for (const bppsa_function *function = functions; function->name; ++function)
    table[function->name] = *function;
}

bppsa_function FunctionTable::find(const std::string &name) const {
  auto found = table.find(name);
  if (found == table.end())
    fail("this program has no function ", quote(name), "; compile the model again");
  bppsa_function function = found->second;
  if (std::string error; !function.call && !load(name, function, error))
    fail("function ", quote(name), " has no code: ", error);
  return function;
}

static uint64_t bytesOf(int64_t (*formula)(const int64_t *), const Symbols &symbols) {
  if (!formula)
    return 0;
  // The formula ignores symbols that the function does not use.
  std::vector<int64_t> values;
  for (std::optional<int64_t> symbol : symbols)
    values.push_back(symbol.value_or(1));
  return formula(values.data());
}

uint64_t FunctionTable::arenaBytes(const std::string &name, const Symbols &symbols) const {
  auto found = table.find(name);
  return found == table.end() ? 0 : bytesOf(found->second.arena, symbols);
}

uint64_t FunctionTable::residualBytes(const std::string &name, const Symbols &symbols) const {
  return bytesOf(find(name).residuals, symbols);
}

Call FunctionTable::prepare(const std::string &name, const std::vector<std::string> &arguments,
                            const ViewTable &views, const Symbols &symbols) const {
  Call call;
  call.function = find(name).call;
  call.arena = arenaBytes(name, symbols);
  call.reserveArena();
  for (const std::string &argument : arguments) {
    auto view = views.find(argument);
    if (view == views.end())
      fail("function ", quote(name), " takes an unknown argument ", quote(argument),
           "; compile the model again");
    call.addArgument(view->second);
  }
  for (std::vector<int64_t> &words : call.descriptors)
    call.pointers.push_back(words.data());
  return call;
}

void Call::addArgument(const View &view) {
  const std::vector<int64_t> &shape = view.shape;
  std::vector<int64_t> words(3 + 2 * shape.size());
  int64_t elements = 1;
  for (size_t axis = shape.size(); axis-- > 0; elements *= shape[axis]) {
    words[3 + axis] = shape[axis];
    words[3 + shape.size() + axis] = elements;
  }
  void *memory = view.data;
  if (isDeviceProgram()) {
    DeviceMirror *mirror = view.mirror;
    if (!mirror)
      mirror =
          mirrors
              .emplace_back(std::make_unique<DeviceMirror>(view.data, elements * view.elementSize))
              .get();
    memory = mirror->address(view.data);
    transfers.push_back({mirror, view.access, !view.mirror});
    results |= !view.mirror && view.access != Access::Read;
  }
  words[0] = words[1] = reinterpret_cast<intptr_t>(memory);
  descriptors.push_back(std::move(words));
}

void Call::toDevice() {
  for (const Transfer &transfer : transfers) {
    if (transfer.access == Access::Write)
      continue;
    if (transfer.eachCall)
      transfer.mirror->hostChanged();
    transfer.mirror->toDevice();
  }
}

void Call::toHost() {
  for (const Transfer &transfer : transfers) {
    if (transfer.access == Access::Read)
      continue;
    transfer.mirror->deviceChanged();
    if (transfer.eachCall)
      transfer.mirror->toHost();
  }
}

void Call::startCatching() {
  if (std::exception_ptr error =
          catchFailure([](void *own) { static_cast<Call *>(own)->enter(); }, this))
    std::rethrow_exception(error);
}

void Call::startOnDevice() {
  Device &device = *programDevice();
  reserveArena();
  toDevice();
  device.beginCall();
  function(pointers.data());
  device.endCall();
  toHost();
}

void Call::reserveArena() const {
  if (arena > 0)
    programDevice()->reserveArena(arena);
}

void Call::wait() { programDevice()->synchronize(); }

double bppsa::runtime::now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static thread_local PhaseTimes phases;

PhaseTimes bppsa::runtime::lastPhases() { return phases; }

void bppsa_rt_phase(int64_t phase) {
  if (isDeviceProgram())
    return orExit(
        [&] { programDevice()->mark(phase == 0 ? StepMark::Forward : StepMark::Backward); });
  if (StagePort *port = currentPorts().stage)
    port->beginPhase(phase);
  double time = now();
  if (phase == 0)
    phases.forward = time;
  else if (phase == 1)
    phases.backward = time;
}

static thread_local std::optional<uint64_t> reportedResiduals;

void bppsa_rt_residuals(int64_t bytes) { reportedResiduals = bytes; }

std::optional<uint64_t> bppsa::runtime::takeReportedResiduals() {
  return std::exchange(reportedResiduals, std::nullopt);
}
