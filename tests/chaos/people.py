"""Those for whom calls stand still: they decide and supply values, and say it until somebody has heard them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Literal, NamedTuple

import httpx

from tests.chaos.evidence import Word
from tests.chaos.place import Place
from tests.chaos.plan import Plan
from toolbus_contracts.values import Json

Verdict = Literal["approve", "edit", "deny", "leave"]
VERDICTS: dict[Verdict, int] = {"approve": 55, "edit": 20, "deny": 15, "leave": 10}
LOOK_S = 0.5
AGAIN_S = 0.2
PATIENCE_S = 6.0
AT_ONCE = 16
BO, CY = "user:bo", "user:cy"
AWAY = frozenset({0, 502, 503, 504})  # 0: no answer
FINAL = frozenset({"wait_closed", "answer_taken"})  # others spoke first, or time did


class Person(NamedTuple):
    """Somebody with a key."""

    subject: str
    token: str


class Said(NamedTuple):
    """The answer to somebody who kept saying it."""

    status: int
    body: dict[str, Any]

    @property
    def code(self) -> str:
        """Why it was refused."""
        return str(self.body.get("code", ""))


class Speech:
    """What people and clients say, through any door, until it is answered; `pending` is what was not answered yet."""

    def __init__(self, place: Place, plan: Plan) -> None:
        self.words: list[Word] = []
        self.pending: Counter[str] = Counter()
        self.oddities: Counter[str] = Counter()
        self._place = place
        self._doors: list[httpx.AsyncClient] = []
        self._random = Random(f"doors {plan.seed}")

    async def prepare(self) -> None:
        """Connected to every process that serves waits."""
        self._doors = await self._place.desks()

    async def key(self, subject: str, *scopes: str) -> Person:
        """Somebody gets a key."""
        http = (await self._place.clients())[0]
        answer = await http.post("/v1/keys", json={"subject": subject, "scopes": list(scopes)})
        assert answer.is_success, answer.text
        return Person(subject, answer.json()["token"])

    async def ask(self, method: str, path: str, who: Person, **more: Any) -> Said:
        """One try; 0 when nobody answered."""
        http = self._random.choice(self._doors)
        headers = {"Authorization": f"Bearer {who.token}"}
        try:
            answer = await http.request(method, path, headers=headers, timeout=PATIENCE_S, **more)
        except (httpx.TransportError, AttributeError):  # see `Clients._sent` for the second
            return Said(0, {})
        return Said(answer.status_code, answer.json() if answer.content else {})

    async def say(self, path: str, who: Person, body: Json) -> Said:
        """As `ask`, until it is answered."""
        return await self.until_answered(f"{who.subject}: {path}", lambda: self.ask("POST", path, who, json=body))

    async def until_answered(self, told: str, say: Callable[[], Awaitable[Said]]) -> Said:
        """Say the same again as long as nobody answers, or says to come back; it is pending meanwhile."""
        self.pending[told] += 1
        while True:
            said = await say()
            if said.status not in AWAY:
                self.pending[told] -= 1
                return said
            await asyncio.sleep(AGAIN_S)

    def note(self, word: Word) -> None:
        """What was said, and how it was answered; what no word should hear is odd."""
        self.words.append(word)
        if word.status != httpx.codes.OK and word.code not in FINAL:
            self.oddities[f"{word.status} {word.code} to {word.what} as {word.subject}"] += 1


class People:
    """
    Two persons decide what needs an approval and supply what is asked for; some calls they leave as they are.

    What is said of a call follows from the seed and the call, so it is the same whoever looks first.
    """

    def __init__(self, speech: Speech, plan: Plan) -> None:
        self._speech = speech
        self._seed = plan.seed
        self._taken: set[str] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._bo: Person
        self._cy: Person

    async def prepare(self) -> None:
        """Both have their keys."""
        self._bo = await self._speech.key(BO, "approve", "read")
        self._cy = await self._speech.key(CY, "approve", "read")

    def verdict(self, call_id: str) -> Verdict:
        """What is said of this call."""
        return Random(f"{self._seed}/{call_id}").choices(list(VERDICTS), list(VERDICTS.values()))[0]

    def has_left(self, call_id: str, kind: str) -> bool:
        """Whether nobody will say anything of this call; of a function a client will, or the clock, which ends it."""
        return kind != "function" and self.verdict(call_id) == "leave"

    async def work(self) -> None:
        """Look and speak until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                for kind in ("approval", "input"):
                    query = {"status": "open", "kind": kind, "include": "arguments", "limit": "500"}
                    said = await self._speech.ask("GET", "/v1/waits", self._bo, params=query)
                    for wait in said.body.get("items", []):
                        if wait["id"] not in self._taken and self.verdict(wait["call_id"]) != "leave":
                            self._taken.add(wait["id"])
                            group.create_task(self._speak(wait))
                await asyncio.sleep(LOOK_S)

    async def _speak(self, wait: dict[str, Any]) -> None:
        async with self._slots:
            if wait["kind"] == "input":
                await self._fill(wait)
                return
            match self.verdict(wait["call_id"]):
                case "approve":
                    await self._decide(wait, "approve", self._bo, wait["digest"])
                case "deny":
                    await self._decide(wait, "deny", self._bo, wait["digest"])
                case _:
                    await self._edit(wait)

    async def _decide(self, wait: dict[str, Any], what: Literal["approve", "deny"], who: Person, digest: str) -> None:
        said = await self._speech.say(f"/v1/waits/{wait['id']}/{what}", who, {"digest": digest, "note": "of a test"})
        self._note(wait, what, who, said, digest=digest)

    async def _edit(self, wait: dict[str, Any]) -> None:
        """One changes the arguments; the other one agrees to what they are then."""
        arguments = {**wait["proposed"], "amount": Random(wait["call_id"]).randint(1, 1000)}
        body = {"digest": wait["digest"], "arguments": arguments}
        said = await self._speech.say(f"/v1/waits/{wait['id']}/approve", self._bo, body)
        digest = str(said.body.get("digest", ""))
        self._note(wait, "edit", self._bo, said, digest=digest, value=arguments)
        if said.status == httpx.codes.OK:
            await self._decide(wait, "approve", self._cy, digest)

    async def _fill(self, wait: dict[str, Any]) -> None:
        values = {"reason": f"because of {wait['call_id']}"}
        body = {"digest": wait["digest"], "values": values}
        said = await self._speech.say(f"/v1/waits/{wait['id']}/answer", self._cy, body)
        self._note(wait, "fill", self._cy, said, value={**wait["proposed"], **values})

    def _note(
        self, wait: dict[str, Any], what: str, who: Person, said: Said, *, digest: str = "", value: Json = None
    ) -> None:
        self._speech.note(Word(wait["call_id"], wait["id"], what, who.subject, digest, value, said.status, said.code))
