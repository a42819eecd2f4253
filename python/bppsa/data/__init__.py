# Part of the bppsa project, under the MIT License.
"""Seeded generators of training sets; ``python -m bppsa.data --help`` shows the command line.

``bitstream``  Bernoulli bitstreams of ten densities
``gratings``   images of oriented stripes, ten classes
``irmas``      synthesised instrument-like tones as standardised MFCC sequences, eleven classes
``voices``     frames of speech-like tones in noise, and of the tones alone
``mfcc``       the MFCC transform itself

The submodules need NumPy, so they are not imported here.
"""
