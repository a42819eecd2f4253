//===- UnknownWords.cpp - Errors for malformed command lines --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "UnknownWords.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <numeric>
#include <vector>

using namespace bppsa::runtime;

void bppsa::runtime::checkFirstWord(const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    names.push_back(command->get_name());
  std::string word = argc > 1 ? argv[1] : "";
  bool known = std::find(names.begin(), names.end(), word) != names.end() ||
               (word[0] == '-' && app.get_option_no_throw(word));
  if (!known)
    throw UsageError(
        text(argc > 1 ? text(word[0] == '-' ? "unknown option " : "unknown command ", quote(word))
                      : "a command is needed",
             "; the commands are ", list(names), ", see --help"));
}

static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

static std::string guessOption(const CLI::App &command, const std::string &word) {
  std::string name = word.substr(0, word.find('=')), guess;
  size_t best = name.size() / 3;
  for (const CLI::Option *option : command.get_options())
    if (size_t distance = editDistance(name, option->get_name());
        distance <= best && option->get_name().rfind("--", 0) == 0) {
      best = distance;
      guess = option->get_name();
    }
  return guess.empty() ? "" : text(", did you mean ", quote(guess));
}

std::string bppsa::runtime::describe(const CLI::App &app, const CLI::ParseError &error) {
  for (const CLI::App *command : app.get_subcommands()) {
    std::vector<std::string> words = command->remaining();
    if (words.empty())
      continue;
    auto option = std::find_if(words.begin(), words.end(),
                               [](const std::string &word) { return word[0] == '-'; });
    bool isOption = option != words.end();
    return text(command->get_name(), ": unknown ", isOption ? "option " : "argument ",
                quote(isOption ? *option : words.front()),
                isOption ? guessOption(*command, *option) : "", "; see ", command->get_name(),
                " --help");
  }
  std::string line = error.what();
  for (char &c : line)
    c = c == '\n' ? ' ' : c;
  return line + "; see --help";
}
