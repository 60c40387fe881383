"""
Which command lines ffmpeg may be given, and what is made of them: options of a list, inputs and one output by name.

A command line is understood wholly or refused: an option that is not listed may take a file for its value. Names are
plain: no folder, no protocol. Each input is read by demuxers that open nothing else, whatever its content claims to
be (a playlist would name further files), and only through the file protocol.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolbus_integrations.providers.media_filters import check_graph, words

FLAGS: Final = words(
    """
    y an vn sn dn shortest hide_banner nostdin nostats copyts start_at_zero autorotate noautorotate bitexact
    accurate_seek noaccurate_seek seek_timestamp
    """
)
FILTERS: Final = words(
    """
    vf af filter filter_complex lavfi
    """
)
FORMATS: Final = frozenset(["f"])
VALUES: Final = words(
    """
    ss t to sseof itsoffset c codec vcodec acodec scodec b ab vb q qscale crf cq qp qmin qmax preset tune profile
    level r s aspect map map_metadata map_chapters metadata disposition frames vframes aframes ar ac channel_layout
    ch_layout pix_fmt sample_fmt g keyint_min bf refs sc_threshold maxrate minrate bufsize movflags fflags flags
    threads loop stream_loop vsync fps_mode compression_level quality lossless strict sws_flags
    video_track_timescale color_primaries color_trc colorspace color_range brand id3v2_version write_id3v1 update
    start_number framerate row-mt cpu-used deadline tile-columns tile-rows speed abr application vbr cutoff
    max_muxing_queue_size avoid_negative_ts loglevel v video_size sample_rate channels tag timestamp apad
    final_delay plays dpi pred frame_duration
    """
)
# What opens no other file. Demuxers by their own names, as `-format_whitelist` compares them.
DEMUXERS: Final = words(
    """
    aac ac3 aiff alaw amr apng asf ass au av1 avi bmp_pipe caf dts dv eac3 f32be f32le flac flv gif gif_pipe h264
    hevc image2 ivf jpeg_pipe jpegxl_pipe matroska mjpeg mov mp3 mpeg mpegts mpegvideo mulaw mxf nut obu ogg
    pbm_pipe pgm_pipe png_pipe ppm_pipe qoi_pipe rawvideo s16be s16le s24be s24le s32be s32le srt tga_pipe tiff_pipe
    truehd tta u8 w64 wav webp_pipe webvtt wv yuv4mpegpipe
    """
)
MUXERS: Final = words(
    """
    3g2 3gp ac3 adts aiff alaw amr apng ass au avi caf f32be f32le flac flv gif h264 hevc image2 ipod ivf matroska
    mjpeg mov mp2 mp3 mp4 mpeg mpegts mulaw nut oga ogg ogv opus rawvideo s16be s16le s24be s24le s32be s32le
    singlejpeg srt tta u8 w64 wav webm webp webvtt wv yuv4mpegpipe
    """
)
ENDINGS: Final = words(
    """
    3g2 3gp aac ac3 aif aiff amr apng ass au avi bmp caf flac flv gif jpeg jpg m4a m4v mka mkv mov mp2 mp3 mp4 mpeg
    mpg nut oga ogg ogv opus png ppm qoi srt tga tif tiff ts tta vtt w64 wav webm webp wv y4m
    """
)
# Reading a longer one would hold up every other call of this process, for longer than a line of any use takes.
MAX_LINE_CHARS: Final = 16 * 1024
TOO_LONG: Final = f"a command line has at most {MAX_LINE_CHARS} characters"
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}")
OPTION: Final = re.compile(r"-([A-Za-z0-9_-]+)((?::[A-Za-z0-9_:#@]*)?)")
STDIN: Final = frozenset(["-", "pipe:", "pipe:0"])
GUARDED: Final = ("-protocol_whitelist", "file", "-format_whitelist", ",".join(DEMUXERS))


@dataclass(frozen=True)
class Command:
    """What ffmpeg is started with; the names of its inputs, in the order of their first mention; its output."""

    arguments: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str


def split_line(line: str) -> list[str]:
    """
    The words of a command line, without the program's name; only quotes and backslashes mean something.

    Raises:
        ValueError: a quote is not closed, or the line is too long.
    """
    if len(line) > MAX_LINE_CHARS:
        raise ValueError(TOO_LONG)
    words = shlex.split(line)
    return words[1:] if words[:1] == ["ffmpeg"] else words


def read_command(words: Sequence[str]) -> Command:
    """
    The command that the words stand for.

    Raises:
        ValueError: they hold something that is not offered; the message names it.
    """
    if sum(map(len, words)) > MAX_LINE_CHARS or len(words) > MAX_LINE_CHARS:
        raise ValueError(TOO_LONG)
    if any("\0" in word for word in words):
        raise ValueError("no argument holds a zero byte")
    rest = list(words)
    arguments: list[str] = []
    inputs: list[str] = []
    while len(rest) > 1:
        word = rest.pop(0)
        if word == "-i":
            name = _input(rest.pop(0))
            inputs.append(name)
            arguments += [*GUARDED, "-i", f"./{name}"]
        else:
            arguments += _option(word, rest)
    if not rest:
        raise ValueError("name an output at the end")
    output = _output(rest.pop())
    if output in inputs:
        raise ValueError("the output is an input")
    return Command((*arguments, f"./{output}"), tuple(dict.fromkeys(inputs)), output)


def _option(word: str, rest: list[str]) -> list[str]:
    """The option with its value, which is taken from the rest."""
    found = OPTION.fullmatch(word)
    if found is None:
        raise ValueError(f"{word!r} is neither an option nor the output at the end")
    name, specifier = found.groups()
    if name in FLAGS and not specifier:
        return [word]
    value = rest.pop(0)
    match name:
        case _ if name in FILTERS:
            check_graph(value)
        case _ if name in FORMATS and not specifier:
            if value not in MUXERS and value not in DEMUXERS:
                raise ValueError(f"the format {value!r} is not offered")
        case _ if name not in VALUES:
            raise ValueError(f"the option {word!r} is not offered")
    return [word, value]


def _input(given: str) -> str:
    if given in STDIN:
        return "input"
    return _plain(given)


def _output(given: str) -> str:
    name = _plain(given)
    ending = name.rpartition(".")[2].lower()
    if ending not in ENDINGS:
        raise ValueError(f"the ending of the output {name!r} is not one of {', '.join(sorted(ENDINGS))}")
    return name


def _plain(given: str) -> str:
    if not NAME.fullmatch(given):
        raise ValueError(f"{given!r} is not a plain file name: no folders, no protocols")
    return given
