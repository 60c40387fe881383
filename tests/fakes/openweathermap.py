"""
OpenWeatherMap, weather of now.

Format: the sample of https://openweathermap.org/current#example_JSON, errors as in https://openweathermap.org/faq;
`pyowm`, a client that others wrote, reads what is answered here.
"""

from typing import Any

from werkzeug import Request, Response

from tests.fakes.vendor import KEY, FakeVendor, as_json


class OpenWeatherMap(FakeVendor):
    """
    Rain in Zocca (in Kelvin, unless asked for metric units); of Nowhere hardly anything is known.

    In `others` it is as in Zocca.
    """

    others: frozenset[str] = frozenset()

    def _setup(self) -> dict[str, Any]:
        return {"openweathermap_api_key": KEY, "base_url": self.url}

    def _is_known(self, request: Request) -> bool:
        return KEY in {request.args.get("appid"), request.args.get("APPID")}

    def _answer(self, request: Request) -> Response:
        if request.method != "GET" or request.path != "/data/2.5/weather":
            return as_json({"cod": "404", "message": "Internal error"}, 404)
        if request.args.get("q") not in {"Zocca,IT", "Nowhere", *self.others}:
            return as_json({"cod": "404", "message": "city not found"}, 404)
        zero = 273.15 if request.args.get("units", "standard") == "standard" else 0
        found = _zocca(zero)
        if request.args["q"] == "Nowhere":
            for name in ("wind", "clouds", "rain", "sys"):
                del found[name]
            del found["main"]["pressure"]
            found["name"] = "Nowhere"
        elif request.args["q"] in self.others:
            found["name"] = request.args["q"]
        return as_json(found)

    def _refusal(self, status: int) -> Response:
        return as_json({"cod": status, "message": self.words}, status)


def _zocca(zero: float) -> dict[str, Any]:
    return {
        "coord": {"lon": 10.99, "lat": 44.34},
        "weather": [{"id": 501, "main": "Rain", "description": "moderate rain", "icon": "10d"}],
        "base": "stations",
        "main": {
            "temp": round(zero + 25.33, 2),
            "feels_like": round(zero + 25.59, 2),
            "temp_min": round(zero + 23.89, 2),
            "temp_max": round(zero + 26.91, 2),
            "pressure": 1015,
            "humidity": 64,
            "sea_level": 1015,
            "grnd_level": 933,
        },
        "visibility": 10000,
        "wind": {"speed": 0.62, "deg": 349, "gust": 1.18},
        "rain": {"1h": 3.16},
        "clouds": {"all": 100},
        "dt": 1661870592,
        "sys": {"type": 2, "id": 2075663, "country": "IT", "sunrise": 1661834187, "sunset": 1661882248},
        "timezone": 7200,
        "id": 3163858,
        "name": "Zocca",
        "cod": 200,
    }
