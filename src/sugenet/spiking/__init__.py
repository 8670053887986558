"""Spiking networks: leaky integrate-and-fire neurons over a window of time steps (docs/spiking.md).

They are unrolled exactly into ordinary networks, so every question, answer and certificate applies to them.
"""

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
