"""The same rules as JSON Schema, for readers in other languages."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from transforms.manifests.envelope import envelope_of


class _ClosedSchema(GenerateJsonSchema):
    """pydantic's schema without its defaults (an absent field has none) and with nothing left open in a map."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        written = super().dict_schema(schema)
        if "patternProperties" in written:
            written["additionalProperties"] = False
        return written

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - titles only repeat the field names
        return False


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a whole manifest of one of `KINDS`, closed at every level.

    It says what `make` says but for three rules that JSON Schema cannot express: days must exist in the calendar, an
    authored duration must come to whole nanoseconds, and a confidence interval runs upwards.
    """
    schema = envelope_of(kind).model_json_schema(schema_generator=_ClosedSchema)
    return {"$schema": _ClosedSchema.schema_dialect, **schema, "title": kind}
