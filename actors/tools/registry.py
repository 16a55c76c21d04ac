"""Plain functions as tools: name, description and schema come from the function itself.

A function's name is the tool's; the text of its docstring before `Args:` is what the model is told
of it, and each line of `Args:` describes a parameter. The annotations give the JSON schema, and
arguments are judged by them: unknown, missing or ill-typed ones never reach the function. A
parameter annotated `ToolContext` is given the call's context and is not shown to the model.

A function may be a coroutine function or a plain one; a plain one runs in a thread. It may return
anything that JSON can say, and raises `ToolError` with a sentence for the model where it can't do
what was asked. What it does is not repeated: after a crash a call without a result is given up,
unless the tool was registered as idempotent, and may then run again.
"""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Any, Final, get_type_hints

import msgspec
from msgspec import Meta, Struct

from actors.errors import RefusalError
from actors.providers.adapter import ToolDefinition
from actors.tools.context import ToolContext

Function = Callable[..., object]
"""A tool as it is written."""

_ARGS: Final = "Args:"
_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
_PARAMETER: Final = re.compile(r"\s*(\w+): (.*)")


class ToolError(RefusalError):
    """A tool can't do what was asked; the sentence is for the model."""


class UnknownToolError(RefusalError):
    """A model named a tool that there is not."""


class BadArgumentsError(RefusalError):
    """A model's arguments are not what the tool takes; the sentence says where."""


class Tool(Struct, frozen=True, kw_only=True):
    """One function that a model may call."""

    name: str
    """What the model calls it by."""
    description: str
    """What the model is told of it."""
    parameters: dict[str, Any]
    """JSON schema of its arguments: an object."""
    is_idempotent: bool
    """Whether it may run again where nobody knows if it did."""
    needs_follow_up: bool
    """Whether the model has to speak of its result; else its text before the call is enough."""
    function: Function
    """What runs."""
    arguments: type[Struct]
    """What its arguments are decoded into."""
    context_parameter: str | None
    """The parameter that is given the context."""

    def decode(self, arguments: str) -> Struct:
        """Return the arguments that JSON text gives.

        Raises:
            BadArgumentsError: They are not what the tool takes.
        """
        try:
            return msgspec.json.decode(arguments, type=self.arguments)
        except msgspec.MsgspecError as error:
            raise BadArgumentsError(str(error)) from error

    async def run(self, arguments: Struct, context: ToolContext) -> object:
        """Call the function and return what it returns; raises what it raises."""
        given = {name: getattr(arguments, name) for name in arguments.__struct_fields__}
        if self.context_parameter is not None:
            given[self.context_parameter] = context
        if inspect.iscoroutinefunction(self.function):
            work: Awaitable[object] = self.function(**given)
            return await work
        return await asyncio.to_thread(self.function, **given)


def tool(function: Function, *, is_idempotent: bool = False, needs_follow_up: bool = True) -> Tool:
    """Return `function` as a tool.

    Raises:
        ValueError: Its name is none that providers take, it has no docstring, or a parameter has
            no annotation.
    """
    name = getattr(function, "__name__", "")
    text = inspect.getdoc(function) or ""
    if not _NAME.fullmatch(name) or not text:
        message = f"{name!r} can't be a tool: it needs a plain name and a docstring"
        raise ValueError(message)
    description, _, section = text.partition(_ARGS)
    told = {
        str(found[1]): str(found[2])
        for found in map(_PARAMETER.match, section.splitlines())
        if found
    }
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    context_parameter = None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if hint is None:
            message = f"the parameter {parameter.name!r} of {name} has no annotation"
            raise ValueError(message)
        if hint is ToolContext:
            context_parameter = parameter.name
            continue
        note = told.get(parameter.name)
        kind = Annotated[hint, Meta(description=note)] if note else hint
        is_required = parameter.default is inspect.Parameter.empty
        field = (parameter.name, kind)
        fields.append(field if is_required else (*field, parameter.default))
    arguments = msgspec.defstruct(
        name, fields, kw_only=True, frozen=True, forbid_unknown_fields=True
    )
    return Tool(
        name=name,
        description=" ".join(description.split()),
        parameters=_schema(arguments),
        is_idempotent=is_idempotent,
        needs_follow_up=needs_follow_up,
        function=function,
        arguments=arguments,
        context_parameter=context_parameter,
    )


class ToolRegistry:
    """The tools of a process, by name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {one.name: one for one in tools}

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All of them, in the order they were registered."""
        return MappingProxyType(self._tools)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """All of them as a model is told of them."""
        return tuple(
            ToolDefinition(name=one.name, description=one.description, parameters=one.parameters)
            for one in self._tools.values()
        )

    def only(self, names: Iterable[str]) -> "ToolRegistry":
        """Return those of `names` that there are; a name without a tool is left out."""
        return ToolRegistry(self._tools[name] for name in names if name in self._tools)

    def find(self, name: str) -> Tool:
        """Return the tool `name`.

        Raises:
            UnknownToolError: There is none; it names the closest one and all that there are.
        """
        found = self._tools.get(name)
        if found is None:
            close = get_close_matches(name, self._tools, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            known = ", ".join(self._tools) or "none"
            message = f"there is no tool {name[:64]!r}{hint} available: {known}"
            raise UnknownToolError(message)
        return found


def _schema(arguments: type[Struct]) -> dict[str, Any]:
    """Return the schema of one object, with what it refers to inside of it."""
    _, components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    parts = dict(components)
    own = parts.pop(arguments.__name__)
    own.pop("title", None)
    return {**own, "$defs": parts} if parts else own
