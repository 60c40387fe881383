"""Tools, executions and keys: commands to the batcher, and reads that fold their streams."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel

from toolbus_contracts.envelope import stream_name
from toolbus_contracts.errors import NotFound
from toolbus_contracts.executions import Execution, FinishedStatus, StartExecution
from toolbus_contracts.keys import Actor, CreateKey, Key
from toolbus_contracts.tools import Surface, Tool, ToolDefinition, tool_stream_id
from toolbus_contracts.values import Json
from toolbus_dispatcher.aggregates import EXECUTION, KEY, TOOL
from toolbus_dispatcher.core.resources import (
    decide_create_key,
    decide_define,
    decide_finish_execution,
    decide_retire,
    decide_revoke_key,
    decide_start_execution,
)
from toolbus_runtime.batcher import Batcher
from toolbus_runtime.commands import new_id
from toolbus_runtime.deciding import Command, Decided, Snapshot
from toolbus_runtime.http.auth import Token, new_token, secret_hash


class Subject(NamedTuple):
    """The thing that a command is about."""

    tenant: str
    category: str
    id: str


Rule = Callable[[Any, datetime], Sequence[BaseModel]]


class Resources:
    """Commands and reads about everything that is not a call."""

    def __init__(self, batcher: Batcher) -> None:
        self._batcher = batcher

    async def tool(self, tenant: str, scope: str, name: str) -> Tool:
        """
        A tool with all its versions.

        Raises:
            NotFound: it was never defined in this scope.
        """
        tool: Tool = await self._batcher.states.read(tenant, TOOL, tool_stream_id(scope, name))
        if not tool.versions:
            raise NotFound(f"there is no tool {name!r} in scope {scope}", "unknown_tool")
        return tool

    async def define(
        self,
        definition: ToolDefinition,
        surface: Surface | None = None,
        *,
        tenant: str,
        scope: str,
        actor: Actor,
        if_match: str | None,
    ) -> Decided:
        """Add a version of a tool, with what its provider or server says of it. Raises: Refused, Conflict."""

        def rule(tool: Tool, now: datetime) -> Sequence[BaseModel]:
            return decide_define(definition, tool, scope=scope, if_match=if_match, now=now, surface=surface)

        return await self._submit(Subject(tenant, TOOL, tool_stream_id(scope, definition.name)), actor, rule)

    async def retire(self, name: str, *, tenant: str, scope: str, actor: Actor) -> Decided:
        """Take a tool out of use. Raises: NotFound."""

        def rule(tool: Tool, now: datetime) -> Sequence[BaseModel]:
            return decide_retire(name, tool, scope=scope, now=now)

        return await self._submit(Subject(tenant, TOOL, tool_stream_id(scope, name)), actor, rule)

    async def start_execution(self, command: StartExecution, *, tenant: str, actor: Actor) -> Execution:
        """Start an execution."""
        execution_id = new_id("exec")

        def rule(execution: Execution | None, now: datetime) -> Sequence[BaseModel]:
            return decide_start_execution(command, execution, execution_id=execution_id, now=now)

        decided = await self._submit(Subject(tenant, EXECUTION, execution_id), actor, rule)
        execution: Execution = decided.state
        return execution

    async def finish_execution(
        self,
        execution_id: str,
        status: FinishedStatus,
        *,
        tenant: str,
        actor: Actor,
        output: Json = None,
        reason: str = "",
    ) -> None:
        """
        Take no further calls into an execution; the calls of a cancelled one are stopped by a reaction.

        Raises: NotFound, Conflict.
        """

        def rule(execution: Execution | None, now: datetime) -> Sequence[BaseModel]:
            return decide_finish_execution(
                status, execution, execution_id=execution_id, output=output, reason=reason, now=now
            )

        await self._submit(Subject(tenant, EXECUTION, execution_id), actor, rule)

    async def key(self, tenant: str, key_id: str) -> Key | None:
        """A key as this process knows it; revocations elsewhere arrive by the feed."""
        stream = stream_name(tenant, KEY, key_id)
        key: Key | None = (await self._batcher.states.known({stream}))[stream]
        return key

    async def create_key(self, command: CreateKey, *, tenant: str, actor: Actor) -> tuple[Key, Token]:
        """Create a key; its token exists only in this answer."""
        token = new_token(tenant, new_id("key"))

        def rule(key: Key | None, now: datetime) -> Sequence[BaseModel]:
            return decide_create_key(
                command, key, key_id=token.key_id, tenant=tenant, secret_hash=secret_hash(token.secret), now=now
            )

        decided = await self._submit(Subject(tenant, KEY, token.key_id), actor, rule)
        key: Key = decided.state
        return key, token

    async def revoke_key(self, key_id: str, *, tenant: str, actor: Actor) -> Key:
        """End a key. Raises: NotFound."""

        def rule(key: Key | None, now: datetime) -> Sequence[BaseModel]:
            return decide_revoke_key(key, key_id=key_id, now=now)

        decided = await self._submit(Subject(tenant, KEY, key_id), actor, rule)
        key: Key = decided.state
        return key

    async def _submit(self, subject: Subject, actor: Actor, rule: Rule) -> Decided:
        def decide(snapshot: Snapshot, now: datetime) -> Sequence[BaseModel]:
            return rule(snapshot.of(*subject), now)

        return await self._batcher.submit(
            Command(
                tenant=subject.tenant,
                category=subject.category,
                subject_id=subject.id,
                causation_id=new_id("cmd"),
                actor=actor,
                decide=decide,
            )
        )
