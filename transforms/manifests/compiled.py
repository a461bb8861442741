"""Models compiled to go from dictionary to dictionary: the same rules at less than half the cost.

A manifest is hashed, stored and read as JSON, never as an object, and building an instance of every part only to take
it apart again is most of the time `make` would need. pydantic compiles a model to a core schema, a plain description
of its fields; here that description is kept and the instances are taken out of it.
"""

from __future__ import annotations

from functools import cache
from typing import Final, cast

from pydantic_core import CoreConfig, CoreSchema, SchemaValidator, core_schema

from transforms.manifests.values import ManifestPart

_CLOSED: Final = CoreConfig(strict=True, extra_fields_behavior="forbid")


def dict_validator(model: type[ManifestPart]) -> SchemaValidator:
    """Return a validator that accepts what `model` accepts and gives back a new dict: JSON names, absent fields absent.

    A validator of the model itself must be of the mode "before", since there is no instance it could look at after.
    """
    return SchemaValidator(_dict_schema(model))


@cache
def places_validator(model: type[ManifestPart], places: tuple[str, ...], *, several: bool) -> SchemaValidator:
    """Return a validator of what stands at some places of a `model`, such as `spec.timing.latencyNs`, by its own rules.

    It takes a dict with a value for each place and gives back a new one, in the order of `places`; or a list of them,
    where there are `several`. Raises TypeError for a place that is none, and for one inside a part that has a rule of
    its own: the part is the place then.
    """
    schema = _dict_schema(model)
    shared = schema["definitions"] if schema["type"] == "definitions" else []
    fields = {place: core_schema.typed_dict_field(_schema_at(schema, place)) for place in places}
    one = core_schema.typed_dict_schema(fields, config=_CLOSED)
    return SchemaValidator(core_schema.definitions_schema(core_schema.list_schema(one) if several else one, shared))


def _dict_schema(model: type[ManifestPart]) -> CoreSchema:
    model.model_rebuild()
    return cast(CoreSchema, _without_instances(model.__pydantic_core_schema__))


def _schema_at(schema: CoreSchema, place: str) -> CoreSchema:
    shared = {}
    if schema["type"] == "definitions":
        shared = {str(one.get("ref")): one for one in schema["definitions"]}
        schema = schema["schema"]
    for step in place.split("."):
        while schema["type"] == "definition-ref":
            schema = shared[schema["schema_ref"]]
        if schema["type"] != "typed-dict" or step not in schema["fields"]:
            raise TypeError(f"{place}: there is no {step} in a {schema['type']}")
        schema = schema["fields"][step]["schema"]
    return schema


def _without_instances(schema: object) -> object:
    if isinstance(schema, list):
        return [_without_instances(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "model":
        content = cast(dict[str, object], _without_instances(schema["schema"]))
        return {**content, "ref": schema["ref"]} if "ref" in schema else content
    if schema.get("type") == "model-fields":
        return _typed_dict(cast(core_schema.ModelFieldsSchema, schema))
    return {key: _without_instances(part) for key, part in schema.items()}


def _typed_dict(model: core_schema.ModelFieldsSchema) -> CoreSchema:
    fields = {}
    for field in model["fields"].values():
        value = field["schema"]
        required = value["type"] != "default"
        if value["type"] == "default":
            value = value["schema"]
        content = cast(CoreSchema, _without_instances(value))
        fields[str(field["validation_alias"])] = core_schema.typed_dict_field(content, required=required)
    return core_schema.typed_dict_schema(fields, config=_CLOSED)
