"""One settings object: flags over environment (`KIX_…`) over `kix.toml` in the home over defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from flows.cron import check_cron
from flows.home import default_home
from scrapers.addresses import check_base_url


class Settings(BaseSettings):
    """What an operator can set. Times in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="KIX_", extra="forbid", frozen=True, env_ignore_empty=True)

    home: Path = Field(default_factory=default_home, description="Folder of the archive and the warehouse")
    sources: Annotated[tuple[str, ...], NoDecode] = Field((), description="Sources that `kix sync` reads, by comma")
    contact: str = Field("", description="Address or page that tells a source's operator who is asking")
    name: str = Field("", description="Who signs notes and verdicts; else the login name")
    connections: PositiveInt | None = Field(
        None, description="Connections to a host at once; else as the source has it"
    )
    requests_per_s: PositiveFloat | None = Field(
        None, description="Requests a second to a host, else as the source has it; loopback is unpaced"
    )
    max_body_bytes: PositiveInt = Field(32 * 1024 * 1024, description="Largest answer, after decompression")
    max_expansion: PositiveInt = Field(200, description="Largest ratio of an answer to what was received of it")
    max_redirects: int = Field(3, ge=0, description="Redirects followed for one answer")
    connect_timeout_s: PositiveFloat = Field(
        10.0, description="Longest time for a connection, with finding its address"
    )
    read_timeout_s: PositiveFloat = Field(20.0, description="Longest silence within an answer")
    answer_timeout_s: PositiveFloat = Field(60.0, description="Longest time for one whole answer")
    attempts: PositiveInt = Field(6, description="Tries for one answer")
    retry_timeout_s: PositiveFloat = Field(300.0, description="Longest time for all tries of one answer")
    max_wait_s: PositiveFloat = Field(30.0, description="Longest wait between tries; a longer Retry-After ends them")
    max_crawl_delay_s: PositiveFloat = Field(
        60.0, description="Longest Crawl-delay of a robots.txt that is kept; with a longer one nothing is asked"
    )
    max_robots_bytes: PositiveInt = Field(
        1024 * 1024, description="Largest robots.txt; with a larger one nothing is asked"
    )
    lock_timeout_s: float = Field(60.0, ge=0, description="How long a sync waits for another one of the same home")
    memory_limit: str = Field(
        "1GB",
        description="DuckDB's memory during a load, of which a small one takes 400 MB; what does not fit goes to disk",
    )
    schedules: dict[str, str] = Field(
        {}, description="Cron in UTC, or `off`, by source or chore (export, verify, maintenance), in place of the usual"
    )
    stale_after_h: dict[str, PositiveFloat] = Field({}, description="Hours after which a source is stale, by source")
    base_urls: dict[str, str] = Field({}, description="Where to read a source instead, by source: a mirror, a replay")
    export_dir: Path | None = Field(None, description="Where scheduled exports go; else `export` in the home")
    keep_snapshots: PositiveInt | None = Field(None, description="Snapshots that maintenance keeps; else all")
    keep_snapshots_days: PositiveInt | None = Field(None, description="Days that maintenance keeps a snapshot")
    prefect_port: int | None = Field(
        None, ge=1, le=65535, description="Port of the server of `kix serve`; else a free one"
    )
    sql_timeout_s: PositiveFloat = Field(30.0, description="Longest time for one `kix sql`")
    sql_memory_mb: PositiveInt = Field(1024, description="Memory for one `kix sql`, MiB")
    log: Literal["off", "text", "json"] = Field("off", description="Events as lines of `text` or `json`, or `off`")
    log_file: Path | None = Field(None, description="Where they are appended; else standard error")

    @field_validator("sources", mode="before")
    @classmethod
    def _by_comma(cls, value: Any) -> Any:
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @field_validator("schedules")
    @classmethod
    def _crons(cls, value: dict[str, str]) -> dict[str, str]:
        return _each_checked(value, check_cron, "the schedule of")

    @field_validator("base_urls")
    @classmethod
    def _addresses(cls, value: dict[str, str]) -> dict[str, str]:
        return _each_checked(value, check_base_url, "the base URL of")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: flags, environment, the home's `kix.toml`."""
        home = Path(init_settings().get("home") or default_home())
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=home / "kix.toml")


def _each_checked(values: dict[str, str], check: Callable[[str], str], what: str) -> dict[str, str]:
    checked = {}
    for name, value in values.items():
        try:
            checked[name] = check(value)
        except ValueError as error:
            raise ValueError(f"{what} {name}: {error}") from None
    return checked


def load_settings(home: Path | None = None) -> Settings:
    """Read the settings; `home` is the flag's. Raises `pydantic.ValidationError` naming the setting and the value."""
    given: dict[str, Any] = {} if home is None else {"home": home}
    try:
        return Settings(**given)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{(home or default_home()) / 'kix.toml'} is no TOML: {error}") from error
