"""Tools, executions, keys and dead letters, for the client that waits in its own thread."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal, Unpack

from toolbus.client.flows import PAGE, every, exchange
from toolbus.client.following import follow_execution
from toolbus.client.requests import dead, executions, server, tools
from toolbus.client.requests.executions import ExecutionFilter
from toolbus.client.requests.parts import When
from toolbus.client.runner import Runner
from toolbus.client.views import AppliedTool, EventView
from toolbus_contracts.dead import DeadLetterView, OpenedLetterView, Redriven
from toolbus_contracts.executions import ExecutionView, Transition
from toolbus_contracts.keys import KeyView, NewKey, Scope
from toolbus_contracts.tools import Limits, ToolDefinition, ToolView
from toolbus_contracts.values import Json


class Tools:
    """The tools that can be called. A `scope` is the tenant (default), `agent:<id>` or `task:<id>`."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def apply(
        self,
        definition: ToolDefinition | Mapping[str, Json],
        *,
        scope: str | None = None,
        expected_version: int | None = None,
    ) -> AppliedTool:
        """
        Register a definition; a new version comes into being when it says something new.

        Raises:
            Invalid: the definition is not valid; `details` names the paths.
            Conflict: `expected_version` is not the newest one.
        """
        return self._runner.run(exchange(tools.apply_tool(definition, scope, expected_version)))

    def list(self, *, scope: str | None = None) -> Iterator[ToolView]:
        """Hand out the newest version of every tool."""
        return self._runner.iterate(every(tools.list_tools(scope, PAGE)))

    def formatted(
        self, shape: str, *, scope: str | None = None, context: Mapping[str, str] | None = None
    ) -> Iterator[Json]:
        """
        Hand out every tool in the shape of a model's API: openai, anthropic or mcp.

        What is stored for the session, task, user and agent of `context` a model need not give, and does not read.
        """
        return self._runner.iterate(every(tools.list_formatted(shape, scope, PAGE, context)))

    def get(self, name: str, *, scope: str | None = None) -> ToolView:
        """Read the newest version of a tool, or of `name@version` that one."""
        return self._runner.run(exchange(tools.get_tool(name, scope)))

    def versions(self, name: str, *, scope: str | None = None) -> Iterator[ToolView]:
        """Hand out every version of a tool, newest first."""
        return self._runner.iterate(every(tools.list_versions(name, scope)))

    def retire(self, name: str, *, scope: str | None = None) -> ToolView:
        """Let the tool take no new calls; its history stays readable."""
        return self._runner.run(exchange(tools.retire_tool(name, scope)))


class Executions:
    """What sets of calls belong to."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def start(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        scopes: Iterable[str] = (),
        parent: str | None = None,
        input: Json = None,  # noqa: A002 - the name that it has in the API
    ) -> ExecutionView:
        """Open an execution; calls are put into it by their option `execution_id`."""
        return self._runner.run(exchange(executions.start_execution(labels, scopes, parent, input)))

    def get(self, execution_id: str, *, at: When | int | None = None) -> ExecutionView:
        """Read an execution, as it is or as it was at a time or position."""
        return self._runner.run(exchange(executions.get_execution(execution_id, at)))

    def list(self, **asked: Unpack[ExecutionFilter]) -> Iterator[ExecutionView]:
        """Hand out executions, newest first."""
        return self._runner.iterate(every(executions.list_executions(asked, PAGE)))

    def finish(
        self, execution_id: str, status: Literal["succeeded", "failed"] = "succeeded", *, output: Json = None
    ) -> ExecutionView:
        """Let the execution take no further calls."""
        return self._runner.run(exchange(executions.finish_execution(execution_id, status, output)))

    def cancel(self, execution_id: str, reason: str = "") -> ExecutionView:
        """Stop the execution and every call in it that can still be stopped."""
        return self._runner.run(exchange(executions.cancel_execution(execution_id, reason)))

    def transitions(self, execution_id: str, *, at: When | int | None = None) -> Iterator[Transition]:
        """Hand out the steps of an execution, oldest first."""
        return self._runner.iterate(every(executions.list_transitions(execution_id, at)))

    def events(self, execution_id: str, *, after: int | None = None) -> Iterator[EventView]:
        """Hand out the events of an execution and its calls, oldest first."""
        return self._runner.iterate(every(executions.list_execution_events(execution_id, after, PAGE), "after"))

    def follow(self, execution_id: str, *, after: int = 0) -> Iterator[EventView]:
        """
        Hand out the events of an execution as they are recorded, until it has ended.

        A broken connection is opened again and goes on after the last event that was handed out.
        """
        return self._runner.iterate(follow_execution(execution_id, after))


class Keys:
    """API keys of the tenant."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def create(
        self,
        subject: str,
        scopes: Iterable[Scope],
        *,
        roles: Iterable[str] = (),
        tools: Iterable[str] | None = None,
        contexts: Iterable[str] = (),
        expires_at: datetime | None = None,
        limits: Limits | None = None,
    ) -> NewKey:
        """
        Make a key; its `token` is shown this one time.

        `tools` says what it may call, `limits` how much at once, `contexts` whose stored values its calls may name
        besides those of its subject: `user:ana`, `user:*`.
        """
        asked = server.create_key(
            subject, scopes, roles=roles, tools=tools, contexts=contexts, expires_at=expires_at, limits=limits
        )
        return self._runner.run(exchange(asked))

    def list(self) -> Iterator[KeyView]:
        """Hand out every key, without its secret."""
        return self._runner.iterate(every(server.list_keys(PAGE)))

    def revoke(self, key_id: str) -> KeyView:
        """Let the key open nothing any more."""
        return self._runner.run(exchange(server.revoke_key(key_id)))


class Dead:
    """Messages that nobody could use (scope operate)."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def list(self, *, reason: str | None = None) -> Iterator[DeadLetterView]:
        """Hand out dead letters, newest first, without what is in them."""
        return self._runner.iterate(every(dead.list_letters(reason, PAGE)))

    def counts(self) -> dict[str, int]:
        """Tell how many dead letters there are, by their reason."""
        return self._runner.run(exchange(dead.count_letters()))

    def get(self, letter_id: str) -> OpenedLetterView:
        """Read a dead letter with what is in it."""
        return self._runner.run(exchange(dead.get_letter(letter_id)))

    def redrive(self, letter_id: str) -> Redriven:
        """
        Let its handler try again, and the letter be gone; what was decided before stays decided once.

        Raises:
            Invalid: it cannot be read; `details` names the paths. The letter stays.
            Conflict: it is none that can be handled again, or its handler says no. The letter stays.
        """
        return self._runner.run(exchange(dead.redrive_letter(letter_id)))
