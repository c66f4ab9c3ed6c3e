// The normal form behind a symbolic Dim: a polynomial with integer coefficients over atoms.
//
//   Expr      constant + sum of coef * monomial
//   Monomial  product of atoms, each to a power
//   Atom      a symbol, floor(a/b), min(a, b, …), max(a, b, …) or broadcast(a, b, …)
//
// All three are interned in their Scope: equal ones are one object, so equality is a pointer comparison. They are
// immutable and live as long as the scope. `a % b` and `ceil(a/b)` have no atom of their own: they are a - b*floor(a/b)
// and -floor(-a/b), and text/text.h prints them back. Code outside dim/ walks these to translate a Dim into something
// else (ONNX nodes); to build one, use the operators of dim/expr/dim.h.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/dim/expr/dim.h"

namespace thaw::dim {

enum class AtomKind : uint8_t { kSymbol, kFloor, kMin, kMax, kBroadcast };

struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  bool data_dependent = false;  // holds a data-dependent symbol
  int id = 0;                   // order of creation in the scope
  int symbol = -1;              // kSymbol: index into Scope::symbols()
  int size = 1;                 // terms and atoms in it, itself included, counted as a tree
  int depth = 0;                // 0 for a symbol, else one more than its deepest operand
  std::vector<Dim> operands;    // kFloor: numerator, denominator (never 0); else two or more, in a fixed order
  bool exact = false;           // a floor(p/m) of a p that is known to be a multiple of the constant m
  // Of floor(x/2): the atom floor((x + 1)/2), and the other way round, once both exist. They sum up to x.
  mutable const Atom* other_half = nullptr;
};

struct Factor {
  const Atom* atom = nullptr;
  int power = 1;  // >= 1
};

struct Monomial {
  bool data_dependent = false;
  int id = 0;
  int degree = 1;  // sum of the powers
  int size = 1;
  int depth = 0;
  bool reducible = false;       // holds an exact floor, one over 2, or the smaller or larger of two: see Poly::finish
  std::vector<Factor> factors;  // at least one, ascending by atom id
};

struct Term {
  int64_t coef = 0;  // never 0 in an Expr
  const Monomial* monomial = nullptr;
};

struct Expr {
  Scope* scope = nullptr;
  bool data_dependent = false;
  int id = 0;
  int size = 1;
  int depth = 0;
  int64_t constant = 0;
  std::vector<Term> terms;  // at least one, ascending by monomial id

  // What range_of found, for the assumptions numbered `range_epoch`. A cache: not part of the value.
  mutable uint32_t range_epoch = 0;
  mutable int64_t range_lower = 0;
  mutable int64_t range_upper = 0;
};

// The smaller or the larger of two.
inline bool is_extreme_of_two(const Atom& atom) {
  return (atom.kind == AtomKind::kMin || atom.kind == AtomKind::kMax) && atom.operands.size() == 2;
}

// The atom that the monomial is, where it is one atom to the power 1; else null.
inline const Atom* single_atom(const Monomial& monomial) {
  return monomial.factors.size() == 1 && monomial.factors[0].power == 1 ? monomial.factors[0].atom : nullptr;
}

// The atom that the Dim is (coefficient 1, nothing added); else null.
inline const Atom* single_atom(Dim d) {
  const Expr* e = d.expr();
  if (e == nullptr || e->constant != 0 || e->terms.size() != 1 || e->terms[0].coef != 1) return nullptr;
  return single_atom(*e->terms[0].monomial);
}

// What is added to the terms of the Dim; 0 of an unknown one.
inline int64_t constant_of(Dim d) { return d.is_symbolic() ? d.expr()->constant : d.constant().value_or(0); }

}  // namespace thaw::dim
