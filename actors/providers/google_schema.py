"""JSON schemas as Google takes them: a part of the language, and refused where there is more.

References are put in place, an alternative with `null` becomes `nullable`, a constant a choice of
one, and words that Google does not know are left out.
"""

from typing import Any, Final

from actors.providers.json_text import JsonObject, is_list, is_object, object_of, text_of

_KEPT: Final = frozenset(
    [
        *("type", "format", "title", "description", "nullable", "enum", "required", "pattern"),
        *("maxItems", "minItems", "maxLength", "minLength", "maximum", "minimum"),
        "propertyOrdering",
    ]
)
_DEEPEST: Final = 16
_REFERENCE: Final = "#/$defs/"


def google_schema(schema: dict[str, Any]) -> JsonObject:
    """Return `schema`, which may hold `$defs`, in Google's words; `schema` is left as it is."""
    return _converted(schema, object_of(schema.get("$defs")), 0)


def _converted(schema: JsonObject, parts: JsonObject, depth: int) -> JsonObject:
    reference = text_of(schema.get("$ref"))
    if reference:
        target = object_of(parts.get(reference.removeprefix(_REFERENCE)))
        schema = {**target, **{key: one for key, one in schema.items() if key != "$ref"}}
    if depth > _DEEPEST:
        return {"type": "object"}
    made: JsonObject = {key: one for key, one in schema.items() if key in _KEPT}
    if not made.get("required"):
        made.pop("required", None)
    if "const" in schema:
        made["enum"] = [schema["const"]]
    if is_list(made.get("enum")) and "type" not in made:
        made["type"] = "string"
    properties = object_of(schema.get("properties"))
    if properties:
        made["properties"] = {
            name: _converted(object_of(one), parts, depth + 1) for name, one in properties.items()
        }
    if is_object(schema.get("items")):
        made["items"] = _converted(object_of(schema["items"]), parts, depth + 1)
    return _with_alternatives(made, schema, parts, depth)


def _with_alternatives(
    made: JsonObject, schema: JsonObject, parts: JsonObject, depth: int
) -> JsonObject:
    options = schema.get("anyOf") or schema.get("oneOf")
    kinds = made.get("type")
    if is_list(kinds):
        made.pop("type")
        options = [{"type": kind} for kind in kinds]
    if not is_list(options):
        return made
    real = [object_of(one) for one in options if object_of(one).get("type") != "null"]
    if len(real) < len(options):
        made["nullable"] = True
    if len(real) == 1:
        return {**_converted(real[0], parts, depth + 1), **made}
    return {**made, "anyOf": [_converted(one, parts, depth + 1) for one in real]}
