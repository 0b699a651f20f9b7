"""What a Keras program has for each lever, on TensorFlow and JAX; the places are those of `templates/keras.py.j2`."""

from __future__ import annotations

from trainspeed.snippets.lever_lines import Pasted

TENSORFLOW: Pasted = {}
JAX: Pasted = {}
