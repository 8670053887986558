"""The checker: it reads a certificate as JSON and a network, and returns a sentence or raises
`CertificateError`.

It uses no engine. ``python -m sugenet.checker CERTIFICATE NETWORK`` requires only the standard library; a
test runs a copy of it without any other package installed. Read it in this order. Each file says at its top
which conditions it must ensure.

1. `network`: networks and the `.sugenet` file. `reading`, `form`: the certificate format.
2. `meaning`, `domain`, `setting`: the inputs that a question is about, and the violations.
3. `certificate`: selects the file that checks each claim. `limit`: time and memory limits.
4. `witness`: replays an input that violates the claim. `counterfactual`, `reason`: stronger claims.
5. `problem`: the question in integers. `proof`, `rules`, `lemma`, `splits`, `multipliers`, `patterns`: proofs
   that there is no violation, in plain form.
6. `composed`, `composites`: claims about several readings. `rated`, `learned`, `flow`: capacities from
   ratings.

Compiled forms of the rules check larger questions. `arrays` and `integers` store the question. `enumeration`
chooses a form: `large`, `walk`, `words` or `branches`. `bounds` checks bounds; `thresholds`, `rup` and
`propagation` follow lemmas. `dual` checks multipliers; `count` and `counting` check counts.
"""

from sugenet.checker.certificate import check

__all__ = ["check"]
