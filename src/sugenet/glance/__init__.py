"""A whole network at a glance: `overview` looks at its neurons, its classes, and where it is fragile.

`atlas` describes neurons, `prototypes` classes, `covering` rules, `fragility` changes of samples, and
`influence` groups of features. `claims` proves sentences about all inputs.
"""

from sugenet.glance.atlas import Atlas, NeuronProfile
from sugenet.glance.claims import Claim
from sugenet.glance.covering import Covering, SupportedRule
from sugenet.glance.fragility import Fragility, Radius
from sugenet.glance.influence import Importance, Influence
from sugenet.glance.prototypes import Prototype, Prototypes
from sugenet.glance.whole import Overview, overview

__all__ = [
    "Atlas",
    "Claim",
    "Covering",
    "Fragility",
    "Importance",
    "Influence",
    "NeuronProfile",
    "Overview",
    "Prototype",
    "Prototypes",
    "Radius",
    "SupportedRule",
    "overview",
]
