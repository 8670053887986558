"""The checker: a certificate as JSON and a network in, a sentence or `CertificateError` out.

It knows no engine. ``python -m sugenet.checker CERTIFICATE NETWORK`` needs the standard library only; a test
runs a copy of it where nothing else is installed. Read it in this order; each file says at its top what it
must ensure.

1. `network`: what a network is, and the `.sugenet` file. `reading`, `form`: the certificate format.
2. `meaning`, `domain`, `setting`: which inputs a question is about, and what is a violation.
3. `certificate` says which file checks what; `limit` how long that may take.
4. `witness` replays an input that violates the claim. `counterfactual` and `reason` claim more.
5. `problem`: the question in integers. `proof`, `rules`, `lemma`, `splits`, `multipliers`, `patterns`: that
   nothing violates it, in plain form.
6. `composed`, `composites`: claims about several readings. `rated`, `learned`, `flow`: capacities from
   ratings.

Compiled forms of the rules, for larger questions: `arrays` and `integers` hold the question, `enumeration`
chooses a form: `large`, `walk`, `words` or `branches`. `bounds` checks bounds; `thresholds`, `rup` and
`propagation` follow lemmas; `dual` checks multipliers, `count` and `counting` counts.
"""

from sugenet.checker.certificate import check

__all__ = ["check"]
