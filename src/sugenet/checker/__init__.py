"""The judge: a certificate as JSON and a network in, a sentence or `CertificateError` out.

It knows no engine: `sugenet.bnn`, the definition, is all it needs, and a test runs it where nothing else is.
To be read by somebody who trusts nobody, in this order; each file says at its top what it must ensure.

1. `certificate` says which file checks what; `limit` how long that may take, `form` which fields it has.
2. `values`, `setting`: what the question says. `query` holds the questions of VNN-LIB.
3. `witness`, `reals`: an input that violates it is replayed. `counterfactual` and `reason` claim more.
4. `proof`: that there is none. `whole` writes the question in whole numbers, `products` sums them.
   `enumeration` enumerates all changes in one of several forms, `bounds` needs no enumeration, `large` is
   both for large networks.
5. `thresholds`, `rup`, `propagation`: a solver's clauses over thresholds. `clauses`, `drup`: over clauses.
   `unpack` reads what is compressed.
6. `patches`: queries over real numbers. `count`, `counting`: how many inputs.
7. `rated`, `learned`, `flow`: capacities that were learned from ratings; no network is needed for these.
8. `composed`: claims about a whole of several readings, from certificates of its parts; `wholes`: its value.
9. `plain`: the compiled parts once more, a few lines each; ``check(..., plain=True)``.
"""

from sugenet.checker.certificate import check

__all__ = ["check"]
