"""No filter that is offered opens a file that the command line does not name as its input or output."""

import re
import subprocess
import time
from collections.abc import Iterator

import pytest

from toolbus_integrations.providers.ffmpeg import Run, _program
from toolbus_integrations.providers.media_commands import read_command
from toolbus_integrations.providers.media_filters import ALLOWED, check_graph

AWAY = "away"
OPENS = re.compile(r"file|path|graph|log\b", re.IGNORECASE)
SECTION = re.compile(r"^(\S+) AVOptions:$")
OPTION = re.compile(r"^\s+(\S+)\s+<(?:string|dictionary|binary)>\s+\S+ ?(.*)$")
GRAPHS = (
    "loudnorm=stats_file={0}",
    "loudnorm=print_format=json:stats_file={0}",
    "loudnorm=print_format=json:'stats_file'={0}",
    "loudnorm=print_format=json\\:stats_file={0}",
    "loudnorm@a=stats_file={0}",
    "loudnorm=-24:7:-2:0:99:-70:99:0:1:0:json:{0}",
    "paletteuse=debug_kdtree={0}",
    "paletteuse=sierra2_4a:2:0:0:128:{0}",
    "null,selectivecolor=psfile={0}",
    "selectivecolor=relative:0:0:0:0:0:0:0:0:0:{0}",
    "showcqt=axisfile={0}",
    "showcqt=fontfile={0}",
)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("option", ["-vf", "-filter:a", "-filter_complex", "-lavfi"])
def test_a_filter_writes_and_reads_no_file(option: str, graph: str) -> None:
    """However its option is written: by name, by its place, quoted or escaped."""
    with pytest.raises(ValueError, match="filter"):
        read_command(["-i", "in.mov", option, graph.format(AWAY), "out.mp4"])


@pytest.mark.parametrize(
    "graph",
    [
        "loudnorm",
        "loudnorm=I=-16:TP=-1.5:LRA=11",
        "loudnorm=I=-16:measured_I=-20.1:linear=true:print_format=json",
        "[0:v]palettegen[p];[0:v][p]paletteuse",
        "paletteuse=dither=bayer:bayer_scale=5:diff_mode=rectangle",
    ],
)
def test_what_people_do_with_them_goes_on(graph: str) -> None:
    """Making sound equally loud, and GIFs."""
    check_graph(graph)


@pytest.mark.parametrize("many", ["-vf {0}null", "-vf {1}null", "-metadata {2}", "{3}", "-vf '{0}"])
@pytest.mark.parametrize("is_split", [False, True])
def test_a_long_command_line_holds_nobody_up(many: str, *, is_split: bool) -> None:
    """All calls of the provider share a process: one that reads for seconds would be ended, and they with it."""
    line = (
        "-i in.mov " + many.format("null," * 200_000, "[a]" * 200_000, "x" * 1_000_000, "-an " * 250_000) + " out.mp4"
    )
    began = time.process_time()
    with pytest.raises(ValueError, match="at most"):
        Run.model_validate({"args": line.split()} if is_split else {"cmd": line})
    assert time.process_time() - began < 1


def _opening() -> Iterator[tuple[str, str]]:
    """Options of offered filters that name a file, as the program itself describes them."""
    said = subprocess.run([_program(), "-hide_banner", "-h", "full"], capture_output=True, text=True, check=True).stdout
    name = ""
    for line in said.splitlines():
        if found := SECTION.match(line):
            name = found[1]
        elif name in ALLOWED and (option := OPTION.match(line)) and OPENS.search(f"{option[1]} {option[2]}"):
            yield name, option[1]


def test_the_program_has_no_further_option_that_opens_a_file() -> None:
    """A newer one may bring some."""
    found = list(_opening())
    assert ("loudnorm", "stats_file") in found
    for name, option in found:
        with pytest.raises(ValueError, match=name):
            check_graph(f"{name}={option}={AWAY}")


@pytest.mark.parametrize(
    "graph",
    [
        "scale=640:-2",
        "scale=iw/2:ih/2",
        "fps=30000/1001,format=yuv420p",
        "select='gt(scene,0.4)',showwaves=s=640x120",
        "[0:v]split[a][b];[a]crop=iw/2:ih[l];[b]hflip[r];[l][r]hstack",
        "sws_flags=bicubic;scale=2:2",
        "overlay@logo=x=(W-w)/2:y=0",
        "volume=0.5 , atempo=2.0",
    ],
)
def test_graphs_allowed(graph: str) -> None:
    """Common graphs pass, divisions and quotes included."""
    check_graph(graph)
