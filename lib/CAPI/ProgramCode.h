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

/// A compiled model whose functions are compiled to machine code on their first call. The model and
/// the code of each function are cached separately in the directory given by the environment
/// variable BPPSA_CACHE.
class ProgramCode {
public:
  /// `spelling` is the text of `options`. If the model cannot be compiled, reports an error and
  /// returns null.
  static std::shared_ptr<ProgramCode> create(const ModelSource &source, CompileOptions options,
                                             std::string spelling,
                                             const DiagnosticHandler &handler);

  /// Returns the interface of the program. This object must outlive it.
  runtime::ProgramInterface getInterface();

private:
  ProgramCode(CompiledModel model, std::string path, CompileOptions options,
              std::optional<std::string> key);

  bool load(const std::string &name, bppsa_function &function, std::string &error);
  std::unique_ptr<LoadedProgram> compile(const std::string &root, std::string &error) const;

  const CompiledModel model;
  const std::string path;
  const CompileOptions options;
  /// Cache key of the model; nullopt if it is not cached.
  const std::optional<std::string> key;

  /// Tables that the interface points to.
  std::vector<bppsa_function> functions;
  const bppsa_instruction_set instructionSets[2];
  const void *const *kernels = nullptr;

  std::mutex mutex;
  /// By root.
  std::map<std::string, std::unique_ptr<LoadedProgram>> loaded;
};

} // namespace bppsa::capi

#endif // BPPSA_LIB_CAPI_PROGRAMCODE_H
