//===- FunctionTableTest.cpp - Tests of lazily loaded functions -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Error.h"
#include "gtest/gtest.h"

using namespace bppsa::runtime;

static int numCalls = 0;
static void countCall(void **) { ++numCalls; }
static int64_t tripleSymbol(const int64_t *symbols) { return 3 * symbols[0]; }

static const bppsa_function kFunctions[] = {{"infer", nullptr, nullptr, nullptr},
                                            {nullptr, nullptr, nullptr, nullptr}};
static const bppsa_instruction_set kSets[] = {{"x86-64-v2", nullptr}, {nullptr, nullptr}};

static FunctionTable makeTable(FunctionLoader load) {
  static const void *const *kernels;
  return FunctionTable(kFunctions, kSets, &kernels, std::move(load));
}

TEST(FunctionTable, CodeIsAskedForWhenACallIsPrepared) {
  std::vector<std::string> asked;
  FunctionTable table = makeTable([&](const std::string &name, bppsa_function &function, auto &) {
    asked.push_back(name);
    function.call = countCall;
    function.residuals = tripleSymbol;
    return true;
  });
  EXPECT_EQ(table.arenaBytes("infer", {7}), 0u);
  EXPECT_TRUE(asked.empty());
  table.prepare("infer", {}, {}, {})();
  EXPECT_EQ(numCalls, 1);
  EXPECT_EQ(table.residualBytes("infer", {7}), 21u);
  EXPECT_EQ(asked, std::vector<std::string>(2, "infer"));
}

TEST(FunctionTable, WhatHasNoCodeIsAnError) {
  FunctionTable table = makeTable([](const std::string &, bppsa_function &, std::string &error) {
    error = "the compiler is tired";
    return false;
  });
  try {
    table.prepare("infer", {}, {}, {});
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "function 'infer' has no code: the compiler is tired");
  }
}
