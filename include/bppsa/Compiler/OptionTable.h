//===- OptionTable.h - table of compiler options ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The command line of bppsa-compile, its help and the setters of the C API are derived from this
// list.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_OPTIONTABLE_H
#define BPPSA_COMPILER_OPTIONTABLE_H

#include "bppsa/Compiler/CompileOptions.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace bppsa {

enum class OptionGroup { Model, Loss, Backward, Target, Output };

enum class OptionForm {
  /// No value, or an optional boolean.
  Flag,
  OptionalValue,
  Value,
  /// Any number of values.
  Repeated
};

struct OptionInfo {
  llvm::StringRef name;
  OptionForm form;
  OptionGroup group;
  llvm::StringRef value;
  llvm::StringRef help;
  /// Parses and stores a value. Returns the accepted values if it is invalid.
  std::optional<std::string> (*set)(CompileOptions &options, llvm::StringRef value);
};

/// Returns all options, sorted by name within each group.
llvm::ArrayRef<OptionInfo> getOptionTable();

const OptionInfo *findOption(llvm::StringRef name);

llvm::StringRef guessOption(llvm::StringRef name);

/// Sets the option `name`; returns a one-line error message on failure.
std::optional<std::string> setOption(CompileOptions &options, llvm::StringRef name,
                                     llvm::StringRef value);

/// Reads the files named by options; returns a one-line error message on failure.
std::optional<std::string> readOptionFiles(CompileOptions &options);

} // namespace bppsa

#endif // BPPSA_COMPILER_OPTIONTABLE_H
