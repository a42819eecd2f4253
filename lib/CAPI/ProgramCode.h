//===- ProgramCode.h - just-in-time code of programs ------------*- C++ -*-===//
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

/// A model whose functions are compiled on their first call. Model and functions are cached
/// separately in BPPSA_CACHE.
class ProgramCode {
public:
  /// `spelling` is the text of `options`. Reports an error and returns null on failure.
  static std::shared_ptr<ProgramCode> create(const ModelSource &source, CompileOptions options,
                                             std::string spelling,
                                             const DiagnosticHandler &handler);

  /// This object must outlive the interface.
  runtime::ProgramInterface getInterface();

private:
  ProgramCode(CompiledModel model, std::string path, CompileOptions options,
              std::optional<std::string> key);

  bool load(const std::string &name, bppsa_function &function, std::string &error);
  std::unique_ptr<LoadedProgram> compile(const std::string &root, std::string &error) const;

  const CompiledModel model;
  const std::string path;
  const CompileOptions options;
  const std::optional<std::string> key;

  std::vector<bppsa_function> functions;
  const bppsa_instruction_set instructionSets[2];
  const void *const *kernels = nullptr;

  std::mutex mutex;
  std::map<std::string, std::unique_ptr<LoadedProgram>> loaded;
};

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_PROGRAMCODE_H
