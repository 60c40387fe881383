"""
Which filter graphs ffmpeg may be given: those of filters that read and write nothing but frames.

Graphs are taken apart as ffmpeg takes them apart (`av_get_token` in libavutil, `graphparser.c` in libavfilter), so
that no quoting makes a filter look like another's argument. Filters stand in a list of those allowed: some hundred
others open files, libraries or sockets, and every version brings more.
"""

import re
from typing import Final


def words(text: str) -> tuple[str, ...]:
    """The words of a list that is written as text."""
    return tuple(text.split())


ALLOWED: Final = frozenset(
    words(
        """
    acompressor acopy acrossfade acrossover adeclick adeclip adelay adynamicsmooth aecho aemphasis aeval aevalsrc
    afade afftdn aformat agate alimiter allpass alphaextract alphamerge aloop amerge amix amultiply anequalizer
    anlmdn anoisesrc anull anullsrc apad aphaser apulsator aresample areverse asegment aselect asetnsamples asetpts
    asetrate asettb asplit astats asubboost atadenoise atempo atrim avectorscope avgblur bandpass bandreject bass
    bilateral biquad blackdetect blackframe blend boxblur bwdif cas channelmap channelsplit chorus chromahold
    chromakey chromashift color colorbalance colorchannelmixer colorcontrast colorcorrect colorhold colorize
    colorkey colorlevels colormatrix colorspace colortemperature compand compensationdelay concat convolution copy
    crop cropdetect crossfeed crystalizer dblur deband deblock decimate dedot deesser deflate deflicker dejudder
    delogo despill detelecine dialoguenhance dilation displace drawbox drawgrid dynaudnorm earwax ebur128 edgedetect
    eq equalizer erosion exposure extractplanes extrastereo fade field fieldmatch fieldorder fillborders flanger
    floodfill format fps framepack framerate framestep freezedetect gblur geq gradients gradfun grayworld haas hflip
    highpass highshelf histeq histogram hqdn3d hstack hsvhold hsvkey hue huesaturation idet inflate interlace
    interleave join kerndeint lagfun lenscorrection limiter loop loudnorm lowpass lowshelf lumakey lut lut2 lutrgb
    lutyuv mandelbrot mcompand median mergeplanes mestimate minterpolate mix monochrome morpho mpdecimate negate
    nlmeans noformat noise normalize null nullsrc overlay pad palettegen paletteuse pan perspective photosensitivity
    pixelize premultiply prewitt pseudocolor pullup random replaygain repeatfields reverse rgbashift rgbtestsrc
    roberts rotate rubberband scale scale2ref scdet scharr scroll segment select separatefields
    setdar setfield setparams setpts setrange setsar settb shear showfreqs showspatial showspectrum
    showspectrumpic showvolume showwaves showwavespic shuffleframes sidechaincompress sidechaingate silencedetect
    silenceremove sine smartblur smptebars smptehdbars sobel speechnorm split stereo3d stereotools stereowiden
    superequalizer surround swaprect swapuv tblend telecine testsrc testsrc2 threshold thumbnail tile tiltshelf
    tinterlace tmedian tmix tonemap tpad transpose treble tremolo trim unpremultiply unsharp untile v360 vectorscope
    vflip vibrance vibrato vignette virtualbass volume volumedetect vstack w3fdif waveform xbr xfade xmedian xstack
    yadif zoompan
    """
    )
)
BLANK: Final = " \n\t\r"
# Two that have an option which writes a file are given these alone, each by its name and without quotes: what stands
# without a name is given to options in their order.
NAMED_ONLY: Final = {
    "loudnorm": frozenset(
        words(
            """
    I i LRA lra TP tp measured_I measured_i measured_LRA measured_lra measured_TP measured_tp measured_thresh offset
    linear dual_mono print_format
    """
        )
    ),
    "paletteuse": frozenset(words("dither bayer_scale diff_mode new alpha_threshold")),
}
PLAIN_OPTION: Final = re.compile(r"([A-Za-z_]+)=[A-Za-z0-9_.+-]+")
# Since ffmpeg 7 an option of a filter whose name begins with a slash takes its value from a file.
FROM_FILE: Final = re.compile(r"(^|:)\s*/")


def check_graph(graph: str) -> None:
    """
    The graph consists of allowed filters only, none of which is told to read a file.

    Raises:
        ValueError: it does not, or it cannot be read; the message names the filter.
    """
    rest = graph.strip(BLANK)
    if rest.startswith("sws_flags="):
        _, rest = _token(rest, ";")
        rest = rest[1:]
    while rest:
        rest = _after_labels(rest)
        name, rest = _token(rest, "=,;[")
        options = ""
        if rest.startswith("="):
            options, rest = _token(rest[1:], "[],;")
        _check_filter(name.partition("@")[0], options)
        rest = _after_labels(rest)
        if rest and rest[0] not in ",;":
            raise ValueError(f"the filter graph cannot be read after {name!r}")
        rest = rest[1:].strip(BLANK)


def _check_filter(name: str, options: str) -> None:
    if name not in ALLOWED:
        raise ValueError(f"the filter {name!r} is not offered")
    if FROM_FILE.search(options):
        raise ValueError(f"the filter {name!r} may not take values from files")
    if options and name in NAMED_ONLY:
        _check_named(name, options)


def _check_named(name: str, options: str) -> None:
    for option in options.split(":"):
        found = PLAIN_OPTION.fullmatch(option)
        if found is None or found[1] not in NAMED_ONLY[name]:
            raise ValueError(f"the filter {name!r} does not take {option!r} here")


def _after_labels(text: str) -> str:
    rest = text.lstrip(BLANK)
    while rest.startswith("["):
        _, rest = _token(rest[1:], "]")
        if not rest:
            raise ValueError("a label in the filter graph does not end")
        rest = rest[1:].lstrip(BLANK)
    return rest


def _token(text: str, ends: str) -> tuple[str, str]:
    """What stands before the first of `ends` that is neither quoted nor escaped, without quotes; and the rest."""
    found: list[str] = []
    at = len(text) - len(text.lstrip(BLANK))
    while at < len(text) and text[at] not in ends:
        match text[at]:
            case "\\" if at + 1 < len(text):
                found.append(text[at + 1])
                at += 2
            case "'":
                closing = text.find("'", at + 1)
                closing = len(text) if closing < 0 else closing
                found.append(text[at + 1 : closing])
                at = closing + 1
            case letter:
                found.append(letter)
                at += 1
    return "".join(found).rstrip(BLANK), text[at:]
