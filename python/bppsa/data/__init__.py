# Part of the bppsa project, under the MIT License.
"""Seeded generators of training sets; ``python -m bppsa.data --help`` shows the command line.

``bitstream``  Bernoulli bitstreams of ten densities
``gratings``   images of oriented stripes, ten classes
``irmas``      synthesized instrument-like tones as standardized MFCC sequences, eleven classes
``voices``     frames of speech-like tones with noise, and of the tones without noise
``mfcc``       the MFCC transform

The submodules need NumPy, so they are not imported here.
"""
