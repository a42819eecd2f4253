// RUN: bppsa-opt %s -verify-diagnostics -bppsa-cut-stages=stages=2

// A pass names the pass that creates the functions which it needs.

// expected-error @below {{needs a function with the role 'step' in 'bppsa.entry', found none; run bppsa-differentiate}}
module {
}
