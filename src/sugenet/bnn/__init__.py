"""Binarized networks: the definition (paper sections 2.1 and 3).

Frozen values, pure functions, exact integers.
"""

from sugenet.bits.window import Window
from sugenet.bnn.codings import (
    Coding,
    Move,
    OneHot,
    Real,
    Span,
    Steps,
    bit,
    integer,
    thermometer,
    threshold,
    unused,
)
from sugenet.bnn.conv import ConvLayer, PoolLayer, QuantizedConv
from sugenet.bnn.describing import LayerSummary, Summary, summary
from sugenet.bnn.domain import Domain
from sugenet.bnn.encoder import Encoder
from sugenet.bnn.folding import (
    Norm,
    fold,
    fold_conv,
    fold_levels,
)
from sugenet.bnn.head import Head
from sugenet.bnn.laws import Law
from sugenet.bnn.layers import DenseLayer, Layer, LevelLayer, QuantizedLayer
from sugenet.bnn.literals import active_set, decode, lam_of, match_bits, match_count, polarize, tau_of
from sugenet.bnn.network import Network
from sugenet.bnn.neuron import NEVER, Condition, Neuron, QuantizedNeuron, Turn
from sugenet.bnn.raw_rules import RawNeuron, RawRule
from sugenet.bnn.reals import RealLayer
from sugenet.bnn.simplifying import simplify
from sugenet.bnn.source import Source
from sugenet.bnn.trace import LayerTrace, Trace

__all__ = [
    "NEVER",
    "Coding",
    "Condition",
    "ConvLayer",
    "DenseLayer",
    "Domain",
    "Encoder",
    "Head",
    "Law",
    "Layer",
    "LayerSummary",
    "LayerTrace",
    "LevelLayer",
    "Move",
    "Network",
    "Neuron",
    "Norm",
    "OneHot",
    "PoolLayer",
    "QuantizedConv",
    "QuantizedLayer",
    "QuantizedNeuron",
    "RawNeuron",
    "RawRule",
    "Real",
    "RealLayer",
    "Source",
    "Span",
    "Steps",
    "Summary",
    "Trace",
    "Turn",
    "Window",
    "active_set",
    "bit",
    "decode",
    "fold",
    "fold_conv",
    "fold_levels",
    "integer",
    "lam_of",
    "match_bits",
    "match_count",
    "polarize",
    "simplify",
    "summary",
    "tau_of",
    "thermometer",
    "threshold",
    "unused",
]
