"""Writes an authoring-opset operator call at the asked opset.

In this order: a lowering registered in dialect ``onnx``; the operator itself where the asked opset has it with what is
used of it; the operator's official function body, replayed; else an OpsetError that names what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import onnx
import onnx_ir as ir

from . import opsets, schemas
from .bodies import has_body
from .dims import Sizes
from .errors import OpsetError, TranslationError
from .infer import Inferred
from .infer_composite import ML_RULES
from .infer_schema import infer_with_schema
from .literals import attribute
from .registry import Symbolic, registry
from .schemas import ML_DOMAIN, Signature, signature
from .value import Value
from .widen import detour

if TYPE_CHECKING:
    from .builder import GraphBuilder, Wanted


@dataclass(frozen=True, slots=True)
class Plan:
    """What is known about an operator at the asked opset.

    Attributes:
        row: Lowering to try first.
        target: Signature at the asked opset; None where it is absent there.
        same: The asked opset has the very version of the authoring opset.
    """

    row: Symbolic | None
    target: Signature | None
    same: bool


class Adapter:
    """Plans and writes operators for one target opset.

    Args:
        opset: Asked opset of the default domain.
        ml_opset: Asked version of ai.onnx.ml.
    """

    def __init__(self, opset: int, ml_opset: int):
        self.opset, self.ml_opset = opset, ml_opset
        self._plans: dict[tuple[str, str], Plan] = {}

    def version(self, domain: str) -> int:
        """Asked version of a domain."""
        return self.ml_opset if domain == ML_DOMAIN else self.opset

    def plan(self, found: Signature) -> Plan:
        """The plan for an operator, made once."""
        key = (found.domain, found.op)
        plan = self._plans.get(key)
        if plan is None:
            name = f"{found.domain}.{found.op}" if found.domain else found.op
            row = registry.lookup("onnx", name, self.opset)
            target = signature(found.op, self.version(found.domain), found.domain)
            same = target is not None and target.since == found.since
            plan = self._plans[key] = Plan(row, target, same)
        return plan

    def write(
        self,
        g: GraphBuilder,
        found: Signature,
        args: list[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
        inferred: Inferred | None,
    ) -> Sequence[Value | None]:
        """Writes a call with authoring signature `found`; returns one entry for each wanted result."""
        plan = self.plan(found)
        for name in attributes:
            if name not in found.attributes:
                self._no_attribute(found, name, g.location)
        results = run_symbolic(plan.row, g, args, attributes, outputs) if plan.row is not None else None
        if results is None and (plan.target is None or self._outgrown(found, plan.target, args, attributes)):
            results = self._replay_body(g, found, args, attributes, outputs)
        if results is not None:
            if inferred is None and any(_lacks_rank(r) for r in results):
                inferred = self._inferred(g, found, args, attributes, outputs, authoring=True)
            return _tighten(results, inferred)
        assert plan.target is not None
        if plan.same and inferred is not None and detour(plan.target, args) == {}:
            return _visible(g.emit(found.domain, found.op, args, attributes, outputs, inferred), outputs)
        kept = self._kept_attributes(found, plan.target, attributes, g.location)
        return self.write_target(g, plan.target, args, kept, outputs, inferred)

    def write_target(
        self,
        g: GraphBuilder,
        target: Signature,
        args: list[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
        inferred: Inferred | None = None,
    ) -> Sequence[Value | None]:
        """Writes a call at the signature of the asked opset, checking that everything used exists there."""
        op, domain = target.op, target.domain
        for name in attributes:
            if name not in target.attributes:
                self._no_attribute(target, name, g.location)
        if len(args) > target.max_inputs:
            needs = schemas.first_version_with_input(op, len(args) - 1, domain)
            newer = None if needs is None else signature(op, needs, domain)
            detail = f"input {newer.param(len(args) - 1).name if newer else len(args)}"
            raise OpsetError(op, detail=detail, needs=needs, target=self.version(domain), location=g.location)
        casts = detour(target, args)
        if casts is None:
            self._no_type(target, args, g.location)
        if casts:
            return self._write_detour(g, target, args, attributes, outputs, casts)
        if inferred is None:
            inferred = self._inferred(g, target, args, attributes, outputs)
        for i, (type_, _) in enumerate(inferred):
            if type_ is None or target.result(i).takes(type_):
                continue
            needs = schemas.first_version_with_result(op, i, type_, domain)
            raise self._wrong_type(target, target.result(i).name, type_, needs, g.location)
        return _visible(g.emit(domain, op, args, attributes, outputs, inferred), outputs)

    def target_signature(self, op: str, domain: str, location: str) -> Signature:
        """Signature of an operator at the asked opset; OpsetError where it is absent."""
        target = signature(op, self.version(domain), domain)
        if target is None:
            raise self._absent(op, domain, location)
        return target

    def _absent(self, op: str, domain: str, location: str) -> OpsetError:
        since = schemas.versions(op, domain)
        return OpsetError(
            f"{domain}.{op}" if domain else op,
            needs=next((v for v in since if v > self.version(domain)), None),
            target=self.version(domain),
            location=location,
        )

    def _outgrown(
        self, found: Signature, target: Signature, args: Sequence[Value | None], attributes: dict[str, Any]
    ) -> bool:
        """Whether the asked opset's version lacks what is used, while the authoring version has a function body."""
        if target.since == found.since or not has_body(found):
            return False
        lacking = (n for n, v in attributes.items() if n not in target.attributes and v != found.default(n))
        return len(args) > target.max_inputs or any(lacking) or detour(target, args) is None

    def _kept_attributes(
        self, found: Signature, target: Signature, attributes: dict[str, Any], location: str
    ) -> dict[str, Any]:
        """Attributes without those that the asked opset lacks but that only repeat the default."""
        kept = {}
        for name, value in attributes.items():
            if name not in target.attributes and name in found.attributes and value == found.default(name):
                continue
            kept[name] = value
        return kept

    def _write_detour(
        self,
        g: GraphBuilder,
        target: Signature,
        args: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
        casts: dict[str, tuple[ir.DataType, ir.DataType]],
    ) -> Sequence[Value | None]:
        """Casts operands to wider dtypes, writes the operator, casts the results back."""
        try:
            wide = [
                g.Cast(a, to=casts[target.param(i).variable][1]) if a and target.param(i).variable in casts else a
                for i, a in enumerate(args)
            ]
            results = list(self.write_target(g, target, wide, attributes, outputs))
            for i, result in enumerate(results):
                variable = target.outputs[min(i, len(target.outputs) - 1)].variable
                if result is not None and variable in casts and result.dtype is casts[variable][1]:
                    results[i] = g.Cast(result, to=casts[variable][0])
        except OpsetError:
            self._no_type(target, args, g.location)
        return results

    def _no_attribute(self, target: Signature, name: str, location: str) -> NoReturn:
        needs = schemas.first_version_with_attribute(target.op, name, target.domain)
        if needs is None:
            raise TranslationError(f"there is no attribute {name}", op=target.op, location=location)
        version = self.version(target.domain)
        raise OpsetError(
            target.op,
            detail=f"attribute {name}",
            needs=needs if needs > version else None,
            target=version,
            location=location,
        )

    def _no_type(self, target: Signature, args: Sequence[Value | None], location: str) -> NoReturn:
        """Raises the error that names the first operand whose dtype the asked opset doesn't take."""
        for i, value in enumerate(args):
            param = target.param(i)
            if value is None or value.type is None or param.takes(value.type):
                continue
            newer = schemas.first_version_with_type(target.op, i, value.type, target.domain)
            raise self._wrong_type(target, param.name, value.type, newer, location)
        raise TranslationError("its operands don't fit", op=target.op, location=location)

    def _wrong_type(
        self, target: Signature, name: str, type_: ir.TypeProtocol, needs: int | None, location: str
    ) -> OpsetError | TranslationError:
        what = f"type {type_.dtype.name}" if isinstance(type_, ir.TensorType) else f"type {schemas.type_text(type_)}"
        if needs is None:
            return TranslationError(f"{name} can't be of {what}", op=target.op, location=location)
        version = self.version(target.domain)
        detail = f"{name} of {what}"
        newer = needs if needs > version else None
        return OpsetError(target.op, detail=detail, needs=newer, target=version, location=location)

    def _inferred(
        self,
        g: GraphBuilder,
        target: Signature,
        args: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
        *,
        authoring: bool = False,
    ) -> Inferred:
        """Result types by the standard's own inference; the bodies of control flow tell theirs."""
        from .control import body_types

        wanted = [True] * outputs if isinstance(outputs, int) else list(outputs)
        if target.op in ("If", "Loop", "Scan") and not target.domain:
            return body_types(target.op, args, attributes, len(wanted))
        if target.domain == ML_DOMAIN and target.op in ML_RULES:
            known = ML_RULES[target.op](args, attributes, len(wanted))
            if known is not None:
                return known
        names = [f"i{n}" if a is not None else "" for n, a in enumerate(args)]
        kinds = target.attributes
        node = onnx.NodeProto(op_type=target.op, domain=target.domain, input=names)
        node.output.extend(f"o{n}" if keep else "" for n, keep in enumerate(wanted))
        for name, value in attributes.items():
            node.attribute.append(ir.serde.serialize_attribute(attribute(name, value, kinds[name].type)))
        opset = opsets.AUTHORING_OPSET if authoring else self.opset
        found = infer_with_schema(target, node, args, g.root._symbols, opset)
        return [found.get(f"o{n}", (None, None)) for n in range(len(wanted))]

    def _replay_body(
        self,
        g: GraphBuilder,
        found: Signature,
        args: list[Value | None],
        attributes: dict[str, Any],
        outputs: Wanted,
    ) -> Sequence[Value | None]:
        from .bodies import function_body
        from .replay import replay_function

        body = function_body(found, args, attributes, outputs)
        if body is None:
            raise self._absent(found.op, found.domain, g.location)
        try:
            defaults = {name: found.default(name) for name in found.attributes}
            return _visible(replay_function(g, body, args, {**defaults, **attributes}, outputs), outputs)
        except OpsetError as error:
            # the user knows the operator that was called, not the one inside its body
            raise OpsetError(
                found.op,
                detail=f"its function body needs {error.op}" + (f", {error.detail}" if error.detail else ""),
                needs=error.needs,
                target=self.version(found.domain),
                location=g.location,
            ) from error


def run_symbolic(
    row: Symbolic, g: GraphBuilder, args: Sequence[Any], attributes: dict[str, Any], outputs: Wanted
) -> Sequence[Value | None] | None:
    """Calls a symbolic function; None if it gave NotImplemented ("write it as it is")."""
    extra = {"outputs": outputs} if row.wants_outputs else {}
    try:
        results = row.function(g, *args, **attributes, **extra)
    except TypeError as error:
        # an operand or attribute that the function doesn't know is an error of the model's op, not a crash
        inner = error.__traceback__ and error.__traceback__.tb_next
        if inner is None or (hasattr(row.function, "__wrapped__") and inner.tb_next is None):
            raise TranslationError(f"{row.place}: {error}", op=row.name, location=g.location) from error
        raise
    if results is NotImplemented:
        return None
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _lacks_rank(value: Value | None) -> bool:
    return value is not None and value.sizes is None and isinstance(value.type, ir.TensorType)


def _visible(results: Sequence[Value | None], outputs: Wanted) -> Sequence[Value | None]:
    if isinstance(outputs, int):
        return results
    return [r if keep else None for r, keep in zip(results, outputs, strict=True)]


def _tighten(results: Sequence[Value | None], inferred: Inferred | None) -> Sequence[Value | None]:
    """Gives results of a lowering the sizes that were inferred for the operator as a whole."""
    if inferred is None:
        return results
    for value, (_, sizes) in zip(results, inferred, strict=False):
        if value is None or sizes is None or value.is_constant:
            continue
        value.sizes = sizes if value.sizes is None else _merged(value.sizes, sizes)
    return results


def _merged(ours: Sizes, theirs: Sizes) -> Sizes:
    if len(ours) != len(theirs):
        raise ValueError(f"a lowering gave {len(ours)} axes where {len(theirs)} were expected")
    return tuple(b if a is None else a for a, b in zip(ours, theirs, strict=True))
