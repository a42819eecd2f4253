// RUN: bppsa-opt %s -verify-diagnostics -bppsa-defer-weights

// expected-error @below {{bppsa-defer-weights: needs stages of one block, found 0 blocks}}
func.func private @step() attributes {bppsa.entry = #bppsa.entry<role = step, stage = 0>}
