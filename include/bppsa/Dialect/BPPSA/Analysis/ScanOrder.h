//===- ScanOrder.h - the order of the operations of scans -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The order of the operations of a scan plan is written here and nowhere else, for
// any number n of links. An emitter decides what numbers, loops and operations are:
// `ScanSchedule` lists them for a known n, and `bppsa-expand-scan` makes loops.
//
// A scan has the elements 0 to n. Element 0 is the seed, a vector; the matrix of
// element k is that of link k. At the end the vector of element k is what enters link
// k, for k >= 1.
//
// An emitter has a type `Index` with
//
//   constant(c)  add(a, b)  sub(a, b)  mul(a, b)  div(a, b)  shl(a, b)  min(a, b)
//
// and loops, whose bodies take the Index that runs from `lower` to `upper`, exclusive:
//
//   inParallel(lower, upper, body)      iterations do not depend on each other; there are
//                                       none where upper is less than lower
//   inOrder(lower, upper, step, body)   each iteration after the one before it
//   inPairs(count, pair, first, others) `others(pair(i))` for the pairs 1 to count - 1 of a level,
//   and
//                                       `first(pair(0))`; none depends on another one. There is at
//                                       least one pair
//   beginSweep(sweep)                   names the part that follows
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_SCANORDER_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_SCANORDER_H

namespace bppsa {

enum class Sweep { Up, Middle, Down };

/// Two neighbouring blocks of a level, by their last elements, and the last one of the two blocks
/// after them, or the last of all.
template <typename Index> struct ScanPair {
  Index left, right, next;
};

/// The scan of the BPPSA paper (Wang, Bai, Pekhimenko, MLSys 2020, section 3.2) on an array of any
/// length: at most floor(log2 n) `levels` up, a linear scan over the roots of the blocks of
/// 2^levels elements, and as many levels down. With floor(log2 n) levels it is the modified
/// Blelloch scan; fewer make the hybrid one.
///
/// Not among the operations are products with the identity, which are copies, those that
/// end in element n on the way up, which nothing reads, and the matrix of link n.
///
/// The blocks that begin at the seed have vectors in place of matrices, prefixes: that of the block
/// up to element l enters link k, the last one of the next block or of all.
///
/// Operations of the emitter:
///
///   linearize(k)             the matrix of link k
///   compose(l, r)            matrix r becomes the product of first l, then r
///   extend(l, r, k)          prefix r, which enters link k, is matrix r applied to prefix l
///   enter(l, k)              vector k becomes prefix l
///   apply(m, to)             vector `to` becomes matrix m applied to vector m
///   pushDown(l, r)           vector l becomes vector r, and vector r matrix l applied to it
template <typename Emitter>
void emitTreeScan(Emitter &e, typename Emitter::Index n, typename Emitter::Index levels) {
  using Index = typename Emitter::Index;
  using Pair = ScanPair<Index>;
  Index zero = e.constant(0), one = e.constant(1);
  auto before = [&](Index index) { return e.sub(index, one); };

  e.beginSweep(Sweep::Up);
  e.inParallel(one, n, [&](Index k) { e.linearize(k); });
  e.inOrder(zero, levels, one, [&](Index d) {
    Index half = e.shl(one, d), whole = e.shl(half, one);
    Index left = before(half), right = before(whole);
    auto getPair = [&](Index i) {
      Index base = e.mul(whole, i);
      Index end = e.add(right, base);
      return Pair{e.add(left, base), end, e.min(e.add(end, whole), n)};
    };
    e.inPairs(
        e.div(n, whole), getPair, [&](Pair pair) { e.extend(pair.left, pair.right, pair.next); },
        [&](Pair pair) { e.compose(pair.left, pair.right); });
  });

  e.beginSweep(Sweep::Middle);
  Index block = e.shl(one, levels), root0 = before(block);
  Index root1 = e.add(root0, block);
  e.enter(root0, e.min(root1, n));
  e.inOrder(root1, n, block, [&](Index root) { e.apply(root, e.min(e.add(root, block), n)); });

  e.beginSweep(Sweep::Down);
  e.inOrder(zero, levels, one, [&](Index count) {
    Index half = e.shl(one, before(e.sub(levels, count))), whole = e.shl(half, one);
    Index left = before(half), right = before(whole);
    e.enter(left, e.min(right, n));
    Index numPairs = e.add(e.div(e.sub(n, half), whole), one);
    e.inParallel(one, numPairs, [&](Index i) {
      Index base = e.mul(whole, i);
      e.pushDown(e.add(left, base), e.min(e.add(right, base), n));
    });
  });
}

/// How a chunked scan takes its first chunk, which begins at the seed: at once, as one vector,
/// which is less work; or aggregated to a matrix like the others, so that every sweep is one loop.
enum class FirstChunk { Vector, Matrix };

/// Chunks of links. Every chunk but the last, and the first one where it is a vector, is aggregated
/// to one matrix, the cotangent is carried across chunks by a product with each, and the chunks run
/// from what enters them.
///
/// Operations of the emitter, on chunks from 0 on:
///
///   run(c)          what enters each link of chunk c, and leaves it
///   aggregate(c)    the product of the matrices of the links of chunk c
///   carry(c)        what enters chunk c + 1, from what enters chunk c
template <typename Emitter>
void emitChunkedScan(Emitter &e, typename Emitter::Index numChunks, FirstChunk first) {
  using Index = typename Emitter::Index;
  bool isVector = first == FirstChunk::Vector;
  Index one = e.constant(1), last = e.sub(numChunks, one), begin = isVector ? one : e.constant(0);
  e.beginSweep(Sweep::Up);
  if (isVector)
    e.run(e.constant(0));
  e.inParallel(begin, last, [&](Index chunk) { e.aggregate(chunk); });
  e.beginSweep(Sweep::Middle);
  e.inOrder(begin, last, one, [&](Index chunk) { e.carry(chunk); });
  e.beginSweep(Sweep::Down);
  e.inParallel(begin, numChunks, [&](Index chunk) { e.run(chunk); });
}

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_SCANORDER_H
