//===- OptionTable.h - options of a compilation by their names --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The one list of options, from which the command line of bppsa-compile, its help and the setters
// of the C API are made.
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

/// What an option of the command line takes.
enum class OptionForm {
  /// Nothing, or whether it is set.
  Flag,
  /// A value, which may be left out.
  OptionalValue,
  /// A value, once.
  Value,
  /// A value, any number of times.
  Repeated
};

/// One option of a compilation.
struct OptionInfo {
  /// On the command line, without hyphens.
  llvm::StringRef name;
  OptionForm form;
  OptionGroup group;
  /// A word for the value; empty for a flag.
  llvm::StringRef value;
  llvm::StringRef help;
  /// Takes over a value, and says what is accepted where it is none: "must be ...".
  std::optional<std::string> (*set)(CompileOptions &options, llvm::StringRef value);
};

/// All options, in the order of their names within each group.
llvm::ArrayRef<OptionInfo> getOptionTable();

/// The option of that name, or null.
const OptionInfo *findOption(llvm::StringRef name);

/// The option whose name is nearly `name`; empty where there is none.
llvm::StringRef guessOption(llvm::StringRef name);

/// Sets the option `name`. Says in one line what is wrong where it cannot be set.
std::optional<std::string> setOption(CompileOptions &options, llvm::StringRef name,
                                     llvm::StringRef value);

/// Reads the files that options name. Says in one line what is wrong where one cannot be used.
std::optional<std::string> readOptionFiles(CompileOptions &options);

} // namespace bppsa

#endif // BPPSA_COMPILER_OPTIONTABLE_H
