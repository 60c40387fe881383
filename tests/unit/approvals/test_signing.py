"""Signatures of webhooks: public libraries verify them over the very bytes, whichever secret a receiver holds."""

import base64
import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from toolbus_approvals.core.signing import public_key, signed_headers

BODY = '{"type":"call.succeeded","data":{"text":"Grüße, \\u0000 🚀","n":1.0}}'.encode()
OLD = "whsec_" + base64.b64encode(bytes(range(32))).decode()
NEW = "whsec_" + base64.b64encode(bytes(range(64, 104))).decode()
KEY = "whsk_" + base64.b64encode(bytes(range(100, 132))).decode()
NPM = Path(__file__).parents[2] / "contract" / "webhooks"


def headers(*secrets: str, body: bytes = BODY, now: datetime | None = None) -> dict[str, str]:
    """The headers of a message that is sent now."""
    return signed_headers("msg_1", body, secrets, now=now or datetime.now(UTC))


def test_the_example_of_the_specification_is_signed_alike() -> None:
    """Id, time and body are divided by full stops. Source: Standard Webhooks, the test vector of its libraries."""
    found = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        now=datetime.fromtimestamp(1614265330, UTC),
    )
    assert found == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_the_public_library_verifies_what_is_sent(secret: str) -> None:
    """PyPI `standardwebhooks`, with the secret that signed."""
    assert Webhook(secret).verify(BODY, headers(secret)) == json.loads(BODY)


@pytest.mark.parametrize("known", [OLD, NEW])
def test_while_a_secret_changes_receivers_of_either_are_content(known: str) -> None:
    """Both signatures are there; v1a beside them disturbs nobody."""
    Webhook(known).verify(BODY, headers(NEW, OLD))
    Webhook(known).verify(BODY, headers(KEY, OLD) if known == OLD else headers(NEW, KEY))


def test_another_secret_or_other_bytes_do_not_verify() -> None:
    """A single byte is enough, though the JSON be the same."""
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(BODY, headers(NEW))
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(BODY + b" ", headers(OLD))


@pytest.mark.parametrize("away", [timedelta(hours=-1), timedelta(hours=1)])
def test_a_message_of_another_hour_does_not_verify(away: timedelta) -> None:
    """What was recorded is not sent again by others."""
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(BODY, headers(OLD, now=datetime.now(UTC) + away))


def test_the_time_counts_in_whichever_zone_it_is_told() -> None:
    """A moment is a moment."""
    now = datetime.now(UTC)
    assert headers(OLD, now=now) == headers(OLD, now=now.astimezone())


def test_an_ed25519_signature_verifies_with_the_public_key() -> None:
    """`whpk_…` is all that a receiver needs to know."""
    shown = public_key(KEY)
    assert shown is not None
    assert shown.startswith("whpk_")
    found = headers(KEY)
    version, _, signature = found["webhook-signature"].partition(",")
    assert version == "v1a"
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(shown.removeprefix("whpk_")))
    signed = b"msg_1." + found["webhook-timestamp"].encode() + b"." + BODY
    key.verify(base64.b64decode(signature), signed)
    with pytest.raises(InvalidSignature):
        key.verify(base64.b64decode(signature), signed + b" ")


def test_a_shared_secret_has_no_public_key() -> None:
    """Whoever verifies could sign."""
    assert public_key(OLD) is None


@pytest.mark.skipif(
    shutil.which("node") is None or not (NPM / "node_modules").exists(),
    reason="`make webhooks` installs the public library",
)
@pytest.mark.parametrize("secrets", [(OLD,), (NEW, OLD), (KEY, OLD)])
def test_the_javascript_library_verifies_what_is_sent(secrets: tuple[str, ...]) -> None:
    """Npm `standardwebhooks`, over the very bytes and with the older secret."""
    told = {"secret": OLD, "headers": headers(*secrets), "body": base64.b64encode(BODY).decode()}
    done = subprocess.run(
        ["node", "verify.mjs"], cwd=NPM, input=json.dumps(told).encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout) == json.loads(BODY)
