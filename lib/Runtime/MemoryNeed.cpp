//===- MemoryNeed.cpp - Whether a call fits into the device's memory ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Array memory follows from shapes, temporaries from the compiler's arena formula, for any batch
// size.
//
//===----------------------------------------------------------------------===//

#include "MemoryNeed.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace bppsa::runtime;

namespace {
struct Need {
  uint64_t arena = 0;
  std::vector<uint64_t> arrays;

  uint64_t arrayBytes() const { return std::accumulate(arrays.begin(), arrays.end(), uint64_t(0)); }
};

class MemoryCheck {
public:
  MemoryCheck(const Program &program, const std::string &function, const Batch &batch,
              const ViewTable &views)
      : program(program), function(function), batch(batch), views(views), device(*programDevice()) {
  }

  bool fits() const { return fits(need(nullptr), {}); }
  [[noreturn]] void report() const;

private:
  Need need(const Symbols *symbols) const;
  bool fits(const Need &need, const std::vector<void *> &released) const {
    return device.fits(released, need.arrays, need.arena);
  }
  std::optional<size_t> batchSymbol() const;
  int64_t largestBatch(size_t symbol) const;

  const Program &program;
  const std::string &function;
  const Batch &batch;
  const ViewTable &views;
  Device &device;
};
} // namespace

static uint64_t bytesOf(const View &view) { return elementCount(view.shape) * view.elementSize; }

/// With `symbols`, assumes these sizes and that no batch arrays are allocated.
Need MemoryCheck::need(const Symbols *symbols) const {
  const Model &model = program.model;
  Need need{program.functions.arenaBytes(function, symbols ? *symbols : batch.symbols), {}};
  std::set<const DeviceMirror *> seen;
  for (const std::string &argument : model.functions.at(function)) {
    auto found = views.find(argument);
    if (found == views.end())
      continue;
    const View &view = found->second;
    const ArrayInfo *info = model.arrayOf(argument);
    if (view.mirror && !seen.insert(view.mirror).second)
      continue;
    uint64_t bytes = view.mirror ? view.mirror->size() : bytesOf(view);
    if (info && symbols)
      bytes = elementCount(model.extents(info->shape, *symbols)) * view.elementSize;
    else if (view.mirror && view.mirror->hasMemory())
      continue;
    need.arrays.insert(need.arrays.end(), view.mirror ? view.mirror->copies() : 1, bytes);
  }
  return need;
}

std::optional<size_t> MemoryCheck::batchSymbol() const {
  for (const ArrayInfo &input : program.model.inputs)
    if (input.batchAxis && input.shape[*input.batchAxis].kind == Extent::Kind::Symbol)
      return input.shape[*input.batchAxis].symbol;
  return std::nullopt;
}

int64_t MemoryCheck::largestBatch(size_t symbol) const {
  std::vector<void *> released;
  for (const DeviceMirror &mirror : batch.mirrors)
    mirror.addBlocks(released);
  int64_t fitting = 0, tooMany = batch.samples;
  while (tooMany - fitting > 1) {
    int64_t samples = fitting + (tooMany - fitting) / 2;
    Symbols symbols = batch.symbols;
    symbols[symbol] = samples;
    (fits(need(&symbols), released) ? fitting : tooMany) = samples;
  }
  return fitting;
}

void MemoryCheck::report() const {
  Need missing = need(nullptr);
  Device::MemoryInfo found = device.memoryInfo();
  std::string line = text(
      "the device is out of memory: ", quote(function), " on ", batch.samples, " samples needs ",
      describeBytes(missing.arena), " for temporaries and ", describeBytes(missing.arrayBytes()),
      " for arrays, ", describeBytes(found.free), " of ", describeBytes(found.total), " are free");
  std::optional<size_t> symbol = batchSymbol();
  if (!symbol)
    fail(line, "; use shorter sequences or a smaller model");
  int64_t fitting = largestBatch(*symbol);
  if (fitting == 0)
    fail(line, "; not even one sample fits: use shorter sequences or a smaller model");
  fail(line, "; the largest batch that fits has ", fitting, ": use --batch=", fitting,
       " or a file with as many samples");
}

bool bppsa::runtime::fitsMemory(const Program &program, const std::string &function,
                                const Batch &batch, const ViewTable &views) {
  return !isDeviceProgram() || isEmulatedProgram() || !program.model.hasFunction(function) ||
         MemoryCheck(program, function, batch, views).fits();
}

void bppsa::runtime::requireMemory(const Program &program, const std::string &function,
                                   const Batch &batch, const ViewTable &views) {
  if (!fitsMemory(program, function, batch, views))
    MemoryCheck(program, function, batch, views).report();
}
