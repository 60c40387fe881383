"""Settings every service shares: environment variables `TOOLBUS_<NAME>`."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from toolbus_contracts.egress import parse_allowances
from toolbus_contracts.errors import Unreadable
from toolbus_runtime.master_keys import parse_master_keys


class Settings(BaseSettings):
    """What every service needs to find the bus and to log."""

    model_config = SettingsConfigDict(env_prefix="TOOLBUS_", extra="ignore", frozen=True, hide_input_in_errors=True)

    nats_url: str = Field("nats://127.0.0.1:4222", description="the NATS server, or several divided by commas")
    nats_user: str = Field("", description="NATS user; empty = the service's own name")
    nats_password: SecretStr = Field(SecretStr(""), description="password of the NATS user")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level that is logged")
    log_format: Literal["json", "console"] = Field("json", description="json for machines, console for people")
    shutdown_grace_s: float = Field(10.0, gt=0, description="how long work in flight may finish after SIGTERM")


class StoreSettings(Settings):
    """What services with a database need besides."""

    database_url: str = Field(
        "sqlite:///.toolbus/toolbus.db", description="event store: sqlite:///PATH or postgresql://…"
    )


class SecretKeySettings(Settings):
    """What services need besides that seal or open secrets."""

    secrets_key: SecretStr = Field(
        SecretStr(""), description="master keys of secrets: `id key`, divided by commas, the current one first"
    )
    secrets_key_file: Path | None = Field(
        None, description="a file of master keys instead, one a line; a change of it needs no restart"
    )

    @field_validator("secrets_key")
    @classmethod
    def _check_keys(cls, text: SecretStr) -> SecretStr:
        """Keys that cannot be read are told before the service starts, and not with what they are."""
        parse_master_keys(text.get_secret_value())
        return text


class SecretSettings(SecretKeySettings):
    """What services need besides that use secrets."""

    secrets_folder: Path | None = Field(
        None, description="a folder of secrets that are not in the table: files <tenant>/<name>, as they are mounted"
    )


class EgressSettings(Settings):
    """What services need besides that send requests to where others say."""

    egress_allow: str = Field(
        "",
        description="comma list of host[:port], *.suffix[:port], CIDR[:port] that calls and webhooks may reach although"
        " the guard would refuse it; IPv6 in brackets",
    )

    @field_validator("egress_allow")
    @classmethod
    def _check_allowances(cls, text: str) -> str:
        """A list that cannot be read as a whole opens nothing: the service does not start."""
        try:
            parse_allowances(text)
        except Unreadable as error:
            raise ValueError(error.message) from error
        return text


class HttpSettings(StoreSettings):
    """What services with HTTP need besides."""

    http_host: str = Field("127.0.0.1", description="address to listen on; loopback unless set")
    http_port: int = Field(8700, ge=0, le=65535, description="port to listen on")
