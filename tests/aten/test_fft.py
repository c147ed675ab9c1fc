"""Fourier transforms, windows and spectrograms, compared with torch in onnxruntime at two sizes of each open dim."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from complex_check import OPSETS, Row, name, spread, table, tried
from torch import nn

from anyonnx.converters.api import to_onnx

fft = torch.fft
HANN, SHORT = torch.hann_window(16), torch.hamming_window(12)


def stft(**options):
    return lambda x: torch.stft(x, 16, **{"return_complex": True, **options})


def istft(**options):
    return lambda z: torch.istft(z, 16, **{"window": HANN, **options})


ROWS = table(
    ("fft", fft.fft, "f[n,8]", "z[n,7]", "c[n,6]", "d[5]", "l[n,4]", "z[n,1]"),
    ("ifft", fft.ifft, "z[n,8]", "f[n,7]", "c[3,n,6]"),
    ("rfft", fft.rfft, "f[n,8]", "f[7]", "d[n,9]", "l[n,4]"),
    ("irfft", fft.irfft, "z[n,5]", "c[n,6]", "f[n,5]"),
    ("irfft_odd", lambda z: fft.irfft(z, 7), "z[n,4]"),
    ("hfft", fft.hfft, "z[n,5]", "c[n,4]", "f[n,5]"),
    ("ihfft", fft.ihfft, "f[n,8]", "d[n,7]"),
    ("fft_axis", lambda z: fft.fft(z, dim=0), "z[6,n]", "f[6,n,2]"),
    ("fft_middle_axis", lambda z: fft.fft(z, dim=-2), "z[n,6,3]"),
    ("fft_shorter", lambda z: fft.fft(z, 5), "z[n,8]", "f[n,8]"),
    ("fft_longer", lambda z: fft.fft(z, 11), "z[n,8]", "f[n,8]"),
    ("rfft_shorter", lambda x: fft.rfft(x, 5, dim=0), "f[8,n]"),
    ("rfft_longer", lambda x: fft.rfft(x, 12), "f[n,8]"),
    ("irfft_shorter", lambda z: fft.irfft(z, 6), "z[n,8]"),
    ("irfft_longer", lambda z: fft.irfft(z, 20), "z[n,8]"),
    ("fft_ortho", lambda z: fft.fft(z, norm="ortho"), "z[n,8]"),
    ("fft_forward", lambda z: fft.fft(z, norm="forward"), "z[n,8]"),
    ("ifft_ortho", lambda z: fft.ifft(z, norm="ortho"), "z[n,8]"),
    ("ifft_forward", lambda z: fft.ifft(z, norm="forward"), "z[n,8]"),
    ("rfft_ortho", lambda x: fft.rfft(x, norm="ortho"), "f[n,8]"),
    ("irfft_forward", lambda z: fft.irfft(z, norm="forward"), "z[n,5]"),
    ("hfft_ortho", lambda z: fft.hfft(z, norm="ortho"), "z[n,5]"),
    ("ihfft_forward", lambda x: fft.ihfft(x, norm="forward"), "f[n,8]"),
    ("fft2", fft.fft2, "f[n,4,6]", "z[n,4,6]"),
    ("ifft2", lambda z: fft.ifft2(z, s=(5, 4), dim=(0, 1)), "z[4,6,n]"),
    ("rfft2", fft.rfft2, "f[n,4,6]"),
    ("irfft2", fft.irfft2, "z[n,4,6]"),
    ("hfft2", fft.hfft2, "z[n,4,5]"),
    ("ihfft2", fft.ihfft2, "f[n,4,6]"),
    ("fftn", fft.fftn, "z[3,4,5]"),
    ("fftn_last", lambda z: fft.fftn(z, s=(6, -1)), "z[n,4,5]"),
    ("ifftn", lambda z: fft.ifftn(z, dim=(0, 2), norm="ortho"), "c[3,n,5]"),
    ("rfftn", fft.rfftn, "f[3,4,6]"),
    ("irfftn", lambda z: fft.irfftn(z, s=(4, 7), dim=(1, 2)), "z[n,3,4]"),
    ("hfftn", lambda z: fft.hfftn(z, norm="ortho"), "z[3,4]"),
    ("ihfftn", fft.ihfftn, "f[3,4,6]"),
    ("fftshift", fft.fftshift, "f[n,6]", "z[5,n]", "f[4,7]"),
    ("ifftshift", lambda x: fft.ifftshift(x, dim=-1), "f[n,7]", "z[3,n]"),
    ("fftfreq", lambda x: x * fft.fftfreq(8, 0.5), "f[n,8]"),
    ("rfftfreq", lambda x: x * fft.rfftfreq(9), "f[n,5]"),
    ("open_fft", fft.fft, "z[n,t]", "f[t]", "c[n,t]"),
    ("open_ifft", lambda z: fft.ifft(z, dim=0, norm="ortho"), "z[t,3]"),
    ("open_rfft", fft.rfft, "f[n,t]", "d[t]"),
    ("open_irfft", fft.irfft, "z[n,t]"),
    ("open_there_and_back", lambda x: fft.irfft(fft.rfft(x), n=x.shape[-1]), "f[n,t]"),
    ("open_shorter", lambda x: fft.rfft(x, 32), "f[n,t]"),
    ("open_longer", lambda x: fft.fft(x, 80), "f[n,t]"),
    ("open_long", fft.fft, "z[2,s]", "f[s]", "c[s,2]"),
    ("open_long_half", fft.rfft, "f[2,s]", "d[s]"),
    ("open_long_back", lambda z: fft.irfft(z, norm="ortho"), "z[2,s]"),
    ("open_long_pair", lambda x: fft.irfft(fft.rfft(x) * 2, n=x.shape[-1]), "f[2,s]"),
    ("long", fft.fft, "z[2,2000]"),
    ("long_half", fft.rfft, "f[n,4096]"),
    ("long_back", fft.irfft, "z[n,2049]"),
    ("long_prime", fft.rfft, "f[2,1009]"),
    ("long_shorter", lambda x: fft.rfft(x, 1500), "f[n,4000]"),
    ("long_longer", lambda x: fft.ifft(x, 1500), "z[n,1001]"),
    ("stft", stft(window=HANN), "f[n,64]", "d[64]", "f[n,t]"),
    ("stft_abs", lambda x: torch.stft(x, 16, 4, window=HANN, return_complex=True).abs(), "f[n,t]"),
    ("stft_short_window", stft(win_length=12, window=SHORT), "f[n,64]"),
    ("stft_no_window", stft(hop_length=5), "f[n,64]"),
    ("stft_not_centred", stft(center=False, window=HANN), "f[n,64]"),
    ("stft_aligned", stft(center=False, win_length=12, window=SHORT, align_to_window=True), "f[n,64]"),
    ("stft_normalized", stft(normalized=True, window=HANN), "f[n,64]"),
    ("stft_two_sided", stft(onesided=False, window=HANN), "f[n,64]"),
    ("stft_constant", stft(pad_mode="constant", window=HANN), "f[n,64]"),
    ("stft_of_complex", stft(window=HANN), "z[n,64]"),
    ("stft_as_real", stft(return_complex=False, window=HANN), "f[n,64]"),
    ("istft", istft(), "z[n,9,12]", "c[9,12]", "z[n,9,t]"),
    ("istft_length", istft(length=40), "z[n,9,12]", "z[n,9,t]"),
    ("istft_longer", istft(length=60), "z[n,9,12]"),
    ("istft_hop", istft(hop_length=3), "z[n,9,12]"),
    ("istft_short_window", istft(win_length=12, window=SHORT), "z[n,9,12]"),
    ("istft_not_centred", istft(center=False, window=HANN + 0.1), "z[n,9,12]"),
    ("istft_normalized", istft(normalized=True), "z[n,9,12]"),
    ("istft_two_sided", istft(onesided=False), "z[n,16,12]"),
    ("istft_of_complex", istft(onesided=False, return_complex=True), "z[n,16,12]"),
    ("windows", lambda x: [x * w(10) for w in (torch.hann_window, torch.hamming_window, torch.blackman_window,
     torch.bartlett_window, torch.kaiser_window)], "f[n,10]"),
    ("symmetric_windows", lambda x: [x * w(9, periodic=False) for w in (torch.hann_window, torch.hamming_window,
     torch.blackman_window, torch.bartlett_window, torch.kaiser_window)], "f[n,9]"),
)  # fmt: skip


@pytest.mark.parametrize(("row", "opset"), spread(ROWS), ids=name)
def test_op(row: Row, opset: int):
    _, report = tried(row, opset)
    assert report.passed, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("row", ROWS, ids=name)
def test_op_at_every_opset(row: Row, opset: int):
    _, report = tried(row, opset)
    assert report.passed, str(report)


def test_no_operator_that_the_runtime_computes_loosely():
    # onnxruntime's DFT is off by 4e-3 at a length of 16000
    conversion = to_onnx(Spectrum(), (torch.randn(2, 480),), opset=25, compare=False)
    assert not {"DFT", "STFT"} & {n.op_type for n in conversion.model.graph}


class Spectrum(nn.Module):
    """Power spectra of 25 ms at 16 kHz."""

    def forward(self, x):
        return torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True).abs() ** 2


class LogMel(nn.Module):
    """Logarithms of a spectrogram's energies in bands, clipped below the loudest."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bands", torch.rand(80, 201))

    def forward(self, x):
        energy = torch.clamp(self.bands @ Spectrum()(x)[..., :-1], min=1e-10).log10()
        return (torch.maximum(energy, energy.max() - 8) + 4) / 4


class FourierLayer(nn.Module):
    """Mixes the lowest frequencies of images by complex weights, the others by a convolution."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.low, self.high = (nn.Parameter(torch.randn(4, 4, 3, 3, dtype=torch.cfloat)) for _ in range(2))
        self.rest = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        rows, columns = x.shape[-2:]
        spectrum = torch.fft.rfft2(x)
        mixed = torch.zeros(x.shape[0], 4, rows, columns // 2 + 1, dtype=torch.cfloat)
        mixed[:, :, :3, :3] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :3, :3], self.low)
        mixed[:, :, -3:, :3] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -3:, :3], self.high)
        return F.gelu(torch.fft.irfft2(mixed, s=(rows, columns)) + self.rest(x))


class Vocoder(nn.Module):
    """A waveform from predicted magnitudes and phases."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.project = nn.Linear(16, 66)
        self.register_buffer("window", torch.hann_window(64))

    def forward(self, x):
        size, phase = self.project(x).transpose(1, 2).chunk(2, 1)
        spectrum = torch.exp(size).clip(max=100) * (torch.cos(phase) + 1j * torch.sin(phase))
        return torch.istft(spectrum, 64, 16, window=self.window)


class LongFilter(nn.Module):
    """A convolution with a long kernel by way of spectra."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.kernel = nn.Parameter(torch.randn(1, 32))

    def forward(self, x):
        length = x.shape[-1] + 31
        product = torch.fft.rfft(x, length) * torch.fft.rfft(self.kernel, length)
        return torch.fft.irfft(product, length)[..., : x.shape[-1]]


@pytest.mark.parametrize(
    ("model", "shape", "axes", "opset"),
    [
        (LogMel(), (2, 4000), "bt", 17),
        (FourierLayer(), (2, 4, 16, 18), "b-hw", 13),
        (Vocoder(), (2, 20, 16), "bt", 11),
        (LongFilter(), (2, 600), "bt", 21),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_models(model, shape, axes, opset):
    dynamic = {0: {i: a for i, a in enumerate(axes) if a != "-"}}
    conversion = to_onnx(model, (torch.randn(shape),), dynamic=dynamic, opset=opset)
    assert conversion.parity is not None and conversion.parity.passed


def test_spectrogram_is_small():
    conversion = to_onnx(Spectrum(), (torch.randn(2, 4000),), dynamic={0: {0: "batch", 1: "time"}})
    assert conversion.parity is not None and conversion.parity.passed
    assert len(conversion.model.graph) <= 40
