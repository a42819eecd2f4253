//===- OptionTable.h - table of compiler options ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The single list of options: the command line of bppsa-compile, its help and the setters of the C
// API are derived from it.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_OPTIONTABLE_H
#define BPPSA_COMPILER_OPTIONTABLE_H

#include "bppsa/Compiler/CompileOptions.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace bppsa {

/// The groups of options in the help, in order.
enum class OptionGroup { Model, Loss, Backward, Target, Output };

/// The values that an option takes.
enum class OptionForm {
  /// No value, or an optional boolean.
  Flag,
  OptionalValue,
  Value,
  /// Any number of values.
  Repeated
};

struct OptionInfo {
  /// Name on the command line, without hyphens.
  llvm::StringRef name;
  OptionForm form;
  OptionGroup group;
  /// Placeholder for the value in the help; empty for a flag.
  llvm::StringRef value;
  llvm::StringRef help;
  /// Parses and stores a value. Returns the accepted values ("must be ...") if it is invalid.
  std::optional<std::string> (*set)(CompileOptions &options, llvm::StringRef value);
};

/// Returns all options, sorted by name within each group.
llvm::ArrayRef<OptionInfo> getOptionTable();

/// Returns the option with this name, or null.
const OptionInfo *findOption(llvm::StringRef name);

/// Returns the option with the most similar name, or an empty string.
llvm::StringRef guessOption(llvm::StringRef name);

/// Sets the option `name`. Returns a one-line error message on failure.
std::optional<std::string> setOption(CompileOptions &options, llvm::StringRef name,
                                     llvm::StringRef value);

/// Reads the files named by options. Returns a one-line error message on failure.
std::optional<std::string> readOptionFiles(CompileOptions &options);

} // namespace bppsa

#endif // BPPSA_COMPILER_OPTIONTABLE_H
