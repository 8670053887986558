"""What people see: sentences and tables, and the same content as JSON data."""

from sugenet.show.demo import demo, example_1
from sugenet.show.neurons import NeuronView, view_neuron
from sugenet.show.pictures import picture
from sugenet.show.predictions import PredictionView, TraceView, view_predictions, view_trace

__all__ = ["NeuronView", "PredictionView", "TraceView", "demo", "example_1", "picture", "view_neuron", "view_predictions", "view_trace"]
