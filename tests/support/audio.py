"""Audio for models of speech and pitch: a voice made of pulses through resonances, pauses, and a chirp."""

from __future__ import annotations

import numpy as np

#: Resonances of five vowels, in Hz.
VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))


def voice(seconds: float, rate: int = 16000, seed: int = 0) -> np.ndarray:
    """Syllables of a voice with a moving pitch, between pauses of faint noise."""
    generator = np.random.default_rng(seed)
    count = int(seconds * rate)
    time = np.arange(count) / rate
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * time)
    phase = np.cumsum(pitch / rate)
    pulses = np.diff(np.floor(phase), prepend=0.0)
    audio = np.zeros(count)
    syllable = int(0.22 * rate)
    for number, start in enumerate(range(0, count, syllable)):
        part = slice(start, min(start + syllable, count))
        if number % 6 == 5:
            continue
        sound = pulses[part]
        for frequency in VOWELS[generator.integers(len(VOWELS))]:
            sound = _resonance(sound, frequency, rate)
        shape = np.hanning(len(sound)) ** 0.5
        audio[part] = shape * sound / (np.abs(sound).max() + 1e-9)
    return (0.5 * audio + 0.002 * generator.normal(size=count)).astype(np.float32)


def _resonance(x: np.ndarray, frequency: float, rate: int, width: float = 90.0) -> np.ndarray:
    """A two-pole filter."""
    radius = np.exp(-np.pi * width / rate)
    a, b = 2 * radius * np.cos(2 * np.pi * frequency / rate), -(radius**2)
    y = np.zeros(len(x) + 2)
    for i, value in enumerate(x):
        y[i + 2] = value + a * y[i + 1] + b * y[i]
    return y[2:]


def chirp(seconds: float, low: float, high: float, rate: int = 16000) -> np.ndarray:
    """A tone that rises from one frequency to another."""
    time = np.arange(int(seconds * rate)) / rate
    return np.sin(2 * np.pi * (low * time + (high - low) * time**2 / (2 * seconds))).astype(np.float32)
