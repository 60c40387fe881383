"""
The one loop that reads durables.

A standing pull request is kept topped up: the server hands a message out the moment it has one, and
never more than there are free slots. When the connection, the durable or the stream is gone, the loop is
unhealthy, makes again what is missing, and goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from toolbus_contracts.errors import ToolbusError, Unavailable
from toolbus_contracts.subjects import Durable, stream
from toolbus_runtime.bus.acking import ACK, IN_PROGRESS, MAX_DELIVERIES, Acking, nack
from toolbus_runtime.bus.connection import Bus
from toolbus_runtime.bus.delivery import Delivery
from toolbus_runtime.bus.inbox import HEARTBEAT_S, PullInbox
from toolbus_runtime.bus.streams import declare_durable, declare_stream
from toolbus_runtime.telemetry import watch_in_flight

log = structlog.get_logger(__name__)
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 5.0
HANDED_BACK_S = 0.1

Handler = Callable[[Delivery], Awaitable[None]]
_Key = tuple[str, int, int]


class PullLoop:
    """
    Reads one durable and gives each message to the handler, at most `concurrency` at a time.

    A handler that returns has its message acknowledged; what an exception means stands in `acking.py`.
    While a handler runs, the server is told so before half of `ack_wait_s` has passed; a message that is
    delivered again meanwhile is not handled twice.
    """

    def __init__(
        self,
        bus: Bus,
        durable: Durable,
        handler: Handler,
        *,
        concurrency: int,
        max_deliveries: int = MAX_DELIVERIES,
        replicas: int = 1,
    ) -> None:
        self._bus = bus
        self._durable = durable
        self._handler = handler
        self._concurrency = concurrency
        self._acking = Acking(bus, max_deliveries=max_deliveries)
        self._replicas = replicas
        self._running: dict[_Key, Delivery] = {}
        self._inbox: PullInbox | None = None
        self._stopping = asyncio.Event()
        self._reconnected = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._aside: set[asyncio.Task[None]] = set()

    @property
    def is_healthy(self) -> bool:
        """Whether messages can arrive at this moment."""
        inbox = self._inbox
        return inbox is not None and inbox.loss is None and self._bus.is_connected

    @property
    def in_flight(self) -> int:
        """How many messages are being handled."""
        return len(self._running)

    def start(self) -> None:
        """The loop runs in the background until `stop`."""
        self._loop = asyncio.get_running_loop()
        watch_in_flight(self._durable.stream, self._durable.name, self._running.__len__)
        self._bus.on_disconnect(self._on_disconnect)
        self._bus.on_reconnect(self._on_reconnect)
        self._tasks = [self._loop.create_task(self._run()), self._loop.create_task(self._keep_alive())]

    async def stop(self, grace_s: float = 10.0) -> None:
        """
        Nothing is fetched any more, and every answer has reached the server.

        Handlers have had `grace_s` seconds to end; the messages of those that had not come again.
        """
        self._stopping.set()
        if self._inbox is not None:
            self._inbox.changed.set()
            await self._close(self._inbox)  # what is already on its way is handed back
        handlers = [one.task for one in self._running.values() if one.task is not None]
        if handlers:
            _, late = await asyncio.wait(handlers, timeout=grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._aside, return_exceptions=True)
        if self._bus.is_connected:
            await self._bus.flush()

    async def _run(self) -> None:
        """Read until told to stop. Whatever goes wrong, it begins anew: a loop that ended would look healthy."""
        wait_s = FIRST_WAIT_S
        while not self._stopping.is_set():
            opened_at = self._loop.time()
            try:
                await self._read()
            except ToolbusError as error:
                log.warning("pull.unavailable", stream=self._durable.stream, error=str(error), wait_s=wait_s)
            except Exception:  # a fault, ours or of a library: told with its traceback, and gone on
                log.exception("pull.failed", stream=self._durable.stream, durable=self._durable.name, wait_s=wait_s)
            if self._stopping.is_set():
                return
            if self._loop.time() - opened_at > LONGEST_WAIT_S:
                wait_s = FIRST_WAIT_S
            await self._pause(wait_s)
            wait_s = min(LONGEST_WAIT_S, wait_s * 2)

    async def _read(self) -> None:
        """Open an inbox and read it until it is lost, or the loop is told to stop."""
        inbox = await self._open()
        try:
            await self._pump(inbox)
        finally:
            if not self._stopping.is_set():
                inbox.lose("the loop broke")
                log.warning("pull.lost", stream=self._durable.stream, durable=self._durable.name, reason=inbox.loss)
                await self._close(inbox)

    async def _open(self) -> PullInbox:
        """Look whether everything is there, make what is missing, and open an inbox on it."""
        self._reconnected.clear()
        declared = stream(self._durable.stream)
        for name in await declare_stream(self._bus, declared, replicas=self._replicas, may_update=False):
            log.warning("stream.recreated", name=name)
        for name in await declare_durable(self._bus, self._durable, replicas=self._replicas):
            log.warning("durable.recreated", name=name)
        state = await self._bus.stream_state(declared.name)
        if state is None:
            raise Unavailable(f"stream {declared.name} is gone again")
        inbox = PullInbox(self._bus, self._durable, state.created, self._on_delivery)
        await inbox.open()
        self._inbox = inbox
        log.info("pull.opened", stream=self._durable.stream, durable=self._durable.name)
        return inbox

    async def _pump(self, inbox: PullInbox) -> None:
        """Keep the standing request topped up until the inbox is lost."""
        while not (inbox.loss or self._stopping.is_set()):
            inbox.changed.clear()
            wanted = self._wanted(inbox)
            if wanted > 0:
                await inbox.request(wanted)
            else:
                await inbox.changed.wait()

    def _wanted(self, inbox: PullInbox) -> int:
        """How many messages to ask for now: none while the server still owes half of the slots."""
        if inbox.requested > self._concurrency // 2:
            return 0
        return self._concurrency - len(self._running) - inbox.requested

    async def _close(self, inbox: PullInbox) -> None:
        try:
            await inbox.close()
        except ToolbusError as error:
            log.warning("pull.closed", error=str(error))

    async def _pause(self, wait_s: float) -> None:
        """Wait, or until the connection is back."""
        try:
            async with asyncio.timeout(wait_s):
                await self._reconnected.wait()
        except TimeoutError:
            pass

    def _on_delivery(self, inbox: PullInbox, delivery: Delivery) -> None:
        """Take a message from the read loop; nothing in here may wait."""
        key = (delivery.stream_created, delivery.sequence, delivery.stored_ns)  # a rolled back stream repeats itself
        running = self._running.get(key)
        if running is not None:
            running.reply = delivery.reply  # the answer goes to the newest delivery; one handler is enough
            self._tell_soon(running, IN_PROGRESS)
            return
        if self._stopping.is_set() or inbox.loss:
            self._tell_soon(delivery, nack(HANDED_BACK_S))
            return
        self._running[key] = delivery
        delivery.touched = self._loop.time()
        delivery.task = self._loop.create_task(self._handle(key, delivery))

    async def _handle(self, key: _Key, delivery: Delivery) -> None:
        try:
            delivery.refuse_reflected()
            await self._handler(delivery)
        except asyncio.CancelledError:
            await self._acking.tell(delivery, nack(HANDED_BACK_S))
            raise
        except Exception as error:  # noqa: BLE001 - the one place where every exception becomes an answer
            await self._answer(delivery, error)
        else:
            await self._acking.tell(delivery, ACK)
        finally:
            del self._running[key]
            inbox = self._inbox
            if inbox is not None and self._wanted(inbox) > 0:
                inbox.changed.set()

    async def _answer(self, delivery: Delivery, error: Exception) -> None:
        """Answer what the handler raised; when that fails too, the message comes again by itself."""
        try:
            await self._acking.failed(delivery, error)
        except Exception:
            log.exception("message.unanswered", stream=delivery.stream, sequence=delivery.sequence)

    def _tell_soon(self, delivery: Delivery, answer: bytes) -> None:
        task = self._loop.create_task(self._acking.tell(delivery, answer))
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def _keep_alive(self) -> None:
        """Tell the server of handlers that run long, and notice when it says nothing any more."""
        interval_s = min(self._durable.ack_wait_s / 4, HEARTBEAT_S)
        while True:
            await asyncio.sleep(interval_s)
            try:
                await self._touch(self._loop.time() - interval_s / 2)
            except Exception:  # without it every long handler would be given its message again
                log.exception("pull.failed", stream=self._durable.stream, durable=self._durable.name)
            if self._inbox is not None:
                self._inbox.listen_for_silence()

    async def _touch(self, due: float) -> None:
        """Tell the server of every handler of which it has not been told since `due`."""
        for delivery in tuple(self._running.values()):
            if delivery.touched < due:
                delivery.touched = self._loop.time()
                await self._acking.tell(delivery, IN_PROGRESS)

    def _on_disconnect(self) -> None:
        if self._inbox is not None:
            self._inbox.lose("the connection was lost")

    async def _on_reconnect(self) -> None:
        self._reconnected.set()
