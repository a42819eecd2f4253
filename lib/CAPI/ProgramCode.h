//===- ProgramCode.h - code of programs in this process ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CAPI_PROGRAMCODE_H
#define BPPSA_LIB_CAPI_PROGRAMCODE_H

#include "bppsa/Compiler/ObjectCache.h"
#include "bppsa/Runtime/Session.h"
#include "bppsa/Target/LoadedProgram.h"

#include <map>
#include <mutex>

namespace bppsa::capi {

/// A compiled model, whose functions get code when they are first called. What the environment
/// variable BPPSA_CACHE names keeps the model and the code of each function apart.
class ProgramCode {
public:
  /// `spelling` is how `options` were given. Null, with an error reported, where the model cannot
  /// be compiled.
  static std::shared_ptr<ProgramCode> create(const ModelSource &source, CompileOptions options,
                                             std::string spelling,
                                             const DiagnosticHandler &handler);

  /// The program. This must outlive it.
  runtime::ProgramInterface getInterface();

private:
  ProgramCode(CompiledModel model, std::string path, CompileOptions options,
              std::optional<std::string> key);

  bool load(const std::string &name, bppsa_function &function, std::string &error);
  std::unique_ptr<LoadedProgram> compile(const std::string &root, std::string &error) const;

  const CompiledModel model;
  const std::string path;
  const CompileOptions options;
  /// Of the model in the cache; nothing where it is not kept.
  const std::optional<std::string> key;

  /// What the interface points to.
  std::vector<bppsa_function> functions;
  const bppsa_instruction_set instructionSets[2];
  const void *const *kernels = nullptr;

  std::mutex mutex;
  /// By root.
  std::map<std::string, std::unique_ptr<LoadedProgram>> loaded;
};

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_PROGRAMCODE_H
