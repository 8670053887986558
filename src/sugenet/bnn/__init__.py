"""Binarized networks: the definition (paper sections 2.1 and 3). Frozen values, pure functions, exact integers."""

from sugenet.bnn.codings import Coding, Move, OneHot, Steps, bit, integer, thermometer, threshold, unused
from sugenet.bnn.encoder import Encoder
from sugenet.bnn.fold import fold, fold_by_evaluation, fold_levels
from sugenet.bnn.head import Head
from sugenet.bnn.layers import DenseLayer, Layer, LevelLayer
from sugenet.bnn.literals import active_set, decode, lam_of, match_bits, match_count, polarize, tau_of
from sugenet.bnn.network import Network
from sugenet.bnn.neuron import Neuron, Turn
from sugenet.bnn.simplify import simplify
from sugenet.bnn.summary import LayerSummary, Summary, summary
from sugenet.bnn.trace import LayerTrace, Trace

__all__ = [
    "Coding",
    "DenseLayer",
    "Encoder",
    "Head",
    "Layer",
    "LayerSummary",
    "LayerTrace",
    "LevelLayer",
    "Move",
    "Network",
    "Neuron",
    "OneHot",
    "Steps",
    "Summary",
    "Trace",
    "Turn",
    "active_set",
    "bit",
    "decode",
    "fold",
    "fold_by_evaluation",
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
