"""OperationSpec: what is computed, on which axes, from which inputs to which outputs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from transforms.manifests.parts import Artifact
from transforms.manifests.values import AxisName, Dimension, Integer, ManifestPart, Maybe, Slug, Text, Token


class Axis(ManifestPart):
    """One axis: free, fixed to a value, or derived from others by an expression."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"if": {"properties": {"role": {"const": "constant"}}}, "then": {"required": ["value"]}},
                {"if": {"properties": {"role": {"const": "derived"}}}, "then": {"required": ["expression"]}},
            ]
        }
    )

    role: Literal["variable", "constant", "derived"]
    type: Literal["integer"]
    value: Maybe[Integer] = None
    minimum: Maybe[Integer] = None
    maximum: Maybe[Integer] = None
    expression: Maybe[Text] = None

    @model_validator(mode="before")
    @classmethod
    def _has_what_its_role_needs(cls, axis: object) -> object:
        if isinstance(axis, dict):
            if axis.get("role") == "constant" and "value" not in axis:
                raise ValueError("a constant axis needs a value")
            if axis.get("role") == "derived" and "expression" not in axis:
                raise ValueError("a derived axis needs an expression")
        return axis


class Tensor(ManifestPart):
    """An array argument; its shape in whole numbers and axis names."""

    shape: Annotated[list[Dimension], Field(min_length=1)]
    dtype: Token
    layout: Maybe[Token] = None


class Scalar(ManifestPart):
    """A single value."""

    dtype: Token


class Argument(ManifestPart):
    """An input or an output: exactly one of a tensor and a scalar."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["tensor"]}, {"required": ["scalar"]}]})

    name: Token
    tensor: Maybe[Tensor] = None
    scalar: Maybe[Scalar] = None

    @model_validator(mode="before")
    @classmethod
    def _is_one_of_both(cls, argument: object) -> object:
        if isinstance(argument, dict) and ("tensor" in argument) == ("scalar" in argument):
            raise ValueError("an argument is exactly one of tensor and scalar")
        return argument


class Semantics(ManifestPart):
    """What the operation promises about its effects."""

    expression: Maybe[Text] = None
    mutation: Literal["none", "in_place", "destination"]
    determinism: Literal["deterministic", "nondeterministic", "unspecified"]


class Reference(ManifestPart):
    """A reference implementation: that there is one, and where its text is kept, if anywhere."""

    language: Token
    artifact: Maybe[Artifact] = None


class OperationSpec(ManifestPart):
    """The spec of an OperationSpec manifest."""

    family: Slug
    axes: dict[AxisName, Axis]
    inputs: Annotated[list[Argument], Field(min_length=1)]
    outputs: Annotated[list[Argument], Field(min_length=1)]
    semantics: Semantics
    reference: Maybe[Reference] = None
