"""The weather of now, from OpenWeatherMap."""

from typing import Final

from pydantic import BaseModel, Field

from toolbus.provider import READ, Call, Info, Provider
from toolbus_integrations.providers.vendor import BaseUrl, Closed, Key, Vendor

OPENWEATHERMAP: Final = Vendor("OpenWeatherMap", told_at=(("message",),))


class Setup(Closed):
    """`openweathermap_api_key`: a key of OpenWeatherMap; one of the free plan is enough."""

    openweathermap_api_key: Key
    base_url: BaseUrl = "https://api.openweathermap.org"


provider = Provider(
    "weather",
    info=Info(
        friendly_name="OpenWeatherMap", url="https://openweathermap.org", docs="https://openweathermap.org/current"
    ),
    setup=Setup,
)


class Place(Closed):
    """A place by name; the country's two letters after a comma tell apart places of one name."""

    location: str = Field(min_length=1, description="City, and after a comma the country's code: London,GB.")


class Report(BaseModel):
    """The weather in words: metric units, °C, m/s, hPa, mm."""

    result: str


class _Sky(BaseModel):
    description: str


class _Air(BaseModel):
    temp: float
    feels_like: float
    temp_min: float
    temp_max: float
    humidity: float
    pressure: float | None = None


class _Wind(BaseModel):
    speed: float
    deg: float | None = None
    gust: float | None = None


class _Clouds(BaseModel):
    all: float


class _Country(BaseModel):
    country: str | None = None


class _Answer(BaseModel):
    name: str
    sys: _Country = _Country()
    weather: list[_Sky] = Field(min_length=1)
    main: _Air
    wind: _Wind | None = None
    clouds: _Clouds | None = None
    rain: dict[str, float] = {}  # by period: 1h, 3h
    snow: dict[str, float] = {}


@provider.method(contract=READ, retry_on=(500, 502))
async def get(arguments: Place, setup: Setup, call: Call) -> Report:
    """Tell the weather at a place, now."""
    answer = await OPENWEATHERMAP.answer(
        call.get(
            f"{setup.base_url}/data/2.5/weather",
            params={"q": arguments.location, "units": "metric", "appid": setup.openweathermap_api_key},
        )
    )
    return Report(result="\n".join(_lines(OPENWEATHERMAP.read(answer, _Answer))))


def _lines(found: _Answer) -> list[str]:
    """A line for each thing that was measured: what the vendor does not tell is not made up."""
    place = f"{found.name}, {found.sys.country}" if found.sys.country else found.name
    air, wind = found.main, found.wind
    lines = [
        f"Weather in {place} now: {'; '.join(sky.description for sky in found.weather)}",
        f"Temperature: {air.temp} °C (lowest {air.temp_min} °C, highest {air.temp_max} °C)",
        f"Feels like: {air.feels_like} °C",
        f"Humidity: {air.humidity:g} %",
    ]
    if air.pressure is not None:
        lines.append(f"Pressure: {air.pressure:g} hPa")
    if wind is not None:
        direction = "" if wind.deg is None else f" from {wind.deg:g}°"
        gusts = "" if wind.gust is None else f", gusts {wind.gust} m/s"
        lines.append(f"Wind: {wind.speed} m/s{direction}{gusts}")
    if found.clouds is not None:
        lines.append(f"Clouds: {found.clouds.all:g} %")
    for what, periods in (("Rain", found.rain), ("Snow", found.snow)):
        lines.extend(f"{what} in the last {period}: {amount} mm" for period, amount in periods.items())
    return lines
