"""The error function's relatives, and the normal distribution's."""

from __future__ import annotations

import math

import numpy as np

from ..builder import GraphBuilder
from ..value import Value
from .series import horner, quotient, register_function

# Rational approximations of Cephes (ndtr.c, ndtri.c), highest power first.
#: erf(x) = x T(x^2) / U(x^2) up to 1.
_ERF_T = (9.60497373987051638749, 90.0260197203842689217, 2232.00534594684319226, 7003.32514112805075473,
          55592.3013010394962768)  # fmt: skip
_ERF_U = (1.0, 33.5617141647503099647, 521.357949780152679795, 4594.32382970980127987, 22629.0000613890934246,
          49267.3942608635921086)  # fmt: skip
#: exp(x^2) erfc(x) = P(x) / Q(x) from 1 to 8, R(x) / S(x) beyond.
_ERFCX_P = (2.46196981473530512524e-10, 0.564189564831068821977, 7.46321056442269912687, 48.6371970985681366614,
            196.520832956077098242, 526.445194995477358631, 934.528527171957607540, 1027.55188689515710272,
            557.535335369399327526)  # fmt: skip
_ERFCX_Q = (1.0, 13.2281951154744992508, 86.7072140885989742329, 354.937778887819891062, 975.708501743205489753,
            1823.90916687909736289, 2246.33760818710981792, 1656.66309194161350182, 557.535340817727675546)  # fmt: skip
_ERFCX_R = (0.564189583547755073984, 1.27536670759978104416, 5.01905042251180477414, 6.16021097993053585195,
            7.40974269950448939160, 2.97886665372100240670)  # fmt: skip
_ERFCX_S = (1.0, 2.26052863220117276590, 9.39603524938001434673, 12.0489539808096656605, 17.0814450747565897222,
            9.60896809063285878198, 3.36907645100081516050)  # fmt: skip
#: Quantile of the normal distribution about the median, and in the tails: up to sqrt(-2 log p) = 8, and beyond.
_CENTRE = (
    (-59.9633501014107895267, 98.0010754185999661536, -56.6762857469070293439, 13.9312609387279679503,
     -1.23916583867381258016),
    (1.0, 1.95448858338141759834, 4.67627912898881538453, 86.3602421390890590575, -225.462687854119370527,
     200.260212380060660359, -82.0372256168333339912, 15.9056225126211695515, -1.18331621121330003142),
)  # fmt: skip
_TAIL = (
    (4.05544892305962419923, 31.5251094599893866154, 57.1628192246421288162, 44.0805073893200834700,
     14.6849561928858024014, 2.18663306850790267539, -0.140256079171354495875, -0.0350424626827848203418,
     -8.57456785154685413611e-4),
    (1.0, 15.7799883256466749731, 45.3907635128879210584, 41.3172038254672030440, 15.0425385692907503408,
     2.50464946208309415979, -0.142182922854787788574, -0.0380806407691578277194, -9.33259480895457427372e-4),
)  # fmt: skip
_FAR_TAIL = (
    (3.23774891776946035970, 6.91522889068984211695, 3.93881025292474443415, 1.33303460815807542389,
     0.201485389549179081538, 0.0123716634817820021358, 3.01581553508235416007e-4, 2.65806974686737550832e-6,
     6.23974539184983293730e-9),
    (1.0, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271, 0.216236993594496635890,
     0.0134204006088543189037, 3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9),
)  # fmt: skip


def _erf_near(g: GraphBuilder, x: Value) -> Value:
    """erf for -1 <= x <= 1."""
    return g.Mul(x, quotient(g, g.Mul(x, x), _ERF_T, _ERF_U))


def _erfcx_beyond(g: GraphBuilder, x: Value) -> Value:
    """exp(x^2) erfc(x) for x >= 1."""
    near = quotient(g, g.Min(x, 8.0), _ERFCX_P, _ERFCX_Q)
    far = g.Max(x, 8.0)
    # in 1 / x, so that nothing overflows
    inverse = g.Reciprocal(far)
    ratio = g.Mul(g.Div(horner(g, inverse, _ERFCX_R[::-1]), horner(g, inverse, _ERFCX_S[::-1])), inverse)
    return g.Where(g.Less(x, 8.0), near, ratio)


def _erfcx(g: GraphBuilder, x: Value) -> Value:
    size = g.Abs(x)
    square = g.Mul(x, x)
    near = g.Mul(g.Exp(g.Min(square, 1.0)), g.Sub(1.0, _erf_near(g, g.Max(g.Min(x, 1.0), -1.0))))
    far = _erfcx_beyond(g, g.Max(size, 1.0))
    left = g.Sub(g.Mul(g.Exp(square), 2.0), far)
    result = g.Where(g.Less(size, 1.0), near, g.Where(g.Less(x, 0.0), left, far))
    return g.Where(g.IsNaN(x), x, result)


def erfc_double(g: GraphBuilder, x: Value) -> Value:
    """1 - erf(x) in double precision."""
    near = g.Sub(1.0, _erf_near(g, g.Max(g.Min(x, 1.0), -1.0)))
    size = g.Max(g.Abs(x), 1.0)
    far = g.Mul(g.Exp(g.Neg(g.Mul(size, size))), _erfcx_beyond(g, size))
    far = g.Where(g.Less(x, 0.0), g.Sub(2.0, far), far)
    return g.Where(g.IsNaN(x), x, g.Where(g.Less(g.Abs(x), 1.0), near, far))


def erf_double(g: GraphBuilder, x: Value) -> Value:
    """erf in double precision."""
    near = _erf_near(g, g.Max(g.Min(x, 1.0), -1.0))
    return g.Where(g.Less(g.Abs(x), 1.0), near, g.Sub(1.0, erfc_double(g, x)))


def ndtr(g: GraphBuilder, x: Value) -> Value:
    """Distribution function of the normal distribution."""
    return g.Mul(erfc_double(g, g.Mul(x, -math.sqrt(0.5))), 0.5)


def _log_ndtr(g: GraphBuilder, x: Value) -> Value:
    from .unary import log1p

    t = g.Mul(x, math.sqrt(0.5))
    left = g.Sub(g.Log(g.Mul(_erfcx(g, g.Max(g.Neg(t), 0.0)), 0.5)), g.Mul(t, t))
    right = log1p(g, g.Mul(erfc_double(g, t), -0.5))
    return g.Where(g.Less(x, -1.0), left, right)


def _quantile(g: GraphBuilder, offset: Value, tail: Value) -> Value:
    """Quantile of the normal distribution, from the probability less 1/2 and from that of the nearer tail."""
    square = g.Mul(offset, offset)
    centre = g.Add(offset, g.Mul(offset, g.Mul(square, quotient(g, square, *_CENTRE))))
    size = g.Sqrt(g.Mul(g.Log(tail), -2.0))
    inverse = g.Reciprocal(size)
    ratio = g.Where(g.Less(size, 8.0), quotient(g, inverse, *_TAIL), quotient(g, inverse, *_FAR_TAIL))
    far = g.Sub(g.Sub(size, g.Div(g.Log(size), size)), g.Mul(inverse, ratio))
    far = g.Where(g.Equal(tail, 0.0), np.inf, far)
    far = g.Mul(far, g.Sign(offset))
    result = g.Where(g.Greater(tail, math.exp(-2.0)), g.Mul(centre, math.sqrt(2 * math.pi)), far)
    return g.Where(g.GreaterOrEqual(tail, 0.0), result, np.nan)


def ndtri(g: GraphBuilder, x: Value) -> Value:
    """Quantile of the normal distribution."""
    return _quantile(g, g.Sub(x, 0.5), g.Min(x, g.Sub(1.0, x)))


def _erfinv(g: GraphBuilder, x: Value) -> Value:
    tail = g.Mul(g.Sub(1.0, g.Abs(x)), 0.5)
    return g.Mul(_quantile(g, g.Mul(x, 0.5), tail), math.sqrt(0.5))


register_function(("special_erfcx",), _erfcx)
register_function(("erfc", "special_erfc"), erfc_double)
register_function(("special_ndtr",), ndtr)
register_function(("special_log_ndtr",), _log_ndtr)
register_function(("erfinv", "special_erfinv"), _erfinv)
register_function(("special_ndtri",), ndtri)
