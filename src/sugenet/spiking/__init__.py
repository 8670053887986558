"""Neurons in time, exactly: leaky integrate-and-fire networks over a window of steps, unrolled into the
networks that there are, so that each question, answer and certificate is about them too (docs/spiking.md).
"""

from __future__ import annotations

from sugenet.spiking.importing import from_snntorch, import_spiking, read_nir, read_spiking_npz
from sugenet.spiking.network import Convention, SpikingLayer, SpikingNetwork
from sugenet.spiking.neuron import SpikingNeuron
from sugenet.spiking.simulation import Run, simulate, simulate_floats
from sugenet.spiking.unrolling import Unrolled, keeping_spikes, unroll

__all__ = [
    "Convention",
    "Run",
    "SpikingLayer",
    "SpikingNetwork",
    "SpikingNeuron",
    "Unrolled",
    "from_snntorch",
    "import_spiking",
    "keeping_spikes",
    "read_nir",
    "read_spiking_npz",
    "simulate",
    "simulate_floats",
    "unroll",
]
