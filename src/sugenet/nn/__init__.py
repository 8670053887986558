"""Binarized networks: the definition (paper sections 2.1 and 3).

Frozen values, pure functions, exact integers.
"""

from sugenet.bits.window import Window
from sugenet.nn.codings import (
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
from sugenet.nn.columns import GAPS, Columns, Preparation, is_gap, moment_of, range_labels
from sugenet.nn.conv import ConvLayer, PoolLayer, QuantizedConv
from sugenet.nn.describing import LayerSummary, Summary, summary
from sugenet.nn.domain import Domain
from sugenet.nn.encoder import Encoder
from sugenet.nn.folding import (
    Norm,
    fold,
    fold_conv,
    fold_levels,
)
from sugenet.nn.head import Head
from sugenet.nn.laws import Law
from sugenet.nn.layers import DenseLayer, Layer, LevelLayer, QuantizedLayer
from sugenet.nn.literals import active_set, decode, lam_of, match_bits, match_count, polarize, tau_of
from sugenet.nn.network import Network, network_of
from sugenet.nn.neuron import NEVER, Condition, Neuron, QuantizedNeuron, Turn
from sugenet.nn.neuron_reasons import NeuronReasons
from sugenet.nn.raw_rules import RawNeuron, RawRule
from sugenet.nn.reals import RealLayer
from sugenet.nn.simplifying import simplify
from sugenet.nn.source import Source
from sugenet.nn.sparse import SparseLayer
from sugenet.nn.trace import LayerTrace, Trace
from sugenet.nn.widths import Accumulator, accumulators

__all__ = [
    "GAPS",
    "NEVER",
    "Accumulator",
    "Coding",
    "Columns",
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
    "NeuronReasons",
    "Norm",
    "OneHot",
    "PoolLayer",
    "Preparation",
    "QuantizedConv",
    "QuantizedLayer",
    "QuantizedNeuron",
    "RawNeuron",
    "RawRule",
    "Real",
    "RealLayer",
    "Source",
    "Span",
    "SparseLayer",
    "Steps",
    "Summary",
    "Trace",
    "Turn",
    "Window",
    "accumulators",
    "active_set",
    "bit",
    "decode",
    "fold",
    "fold_conv",
    "fold_levels",
    "integer",
    "is_gap",
    "lam_of",
    "match_bits",
    "match_count",
    "moment_of",
    "network_of",
    "polarize",
    "range_labels",
    "simplify",
    "summary",
    "tau_of",
    "thermometer",
    "threshold",
    "unused",
]
