"""Every regular expression of the code against its worst case: none may need more than a constant time per character.

Patterns are found in the source, so a new one fails here until WORST names how it is used and a text it finds hard.
Besides that text each is fed repetitions of its own characters. A text grows by doubling; a linear pattern needs about
a millisecond for the longest, a quadratic one passes the limit on the way, whatever else the machine does.
"""

from __future__ import annotations

import ast
import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pytest

from kschedweb.environment import ROOT
from scheduler_core.config.duration import Duration

SHORT = (16, 20, 24, 28, 32)  # a pattern that doubles its steps with each character ends here
GIVEN_LENGTHS = (*SHORT, *(2**power for power in range(6, 16)))
GENERATED_LENGTHS = (*SHORT, *(2**power for power in range(6, 14)))
LIMIT_SECONDS = 0.1  # of the thread's own time
ALPHABET = 6

# Calls that take a pattern as their first argument; `pattern=` and `regex=` are looked for in every call.
METHODS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
NAMES = {"RegexValidator", "RegexField", "re_path"}
KEYWORDS = {"pattern", "regex"}
# What settings hand to Django as patterns.
SETTINGS = {"SECURE_REDIRECT_EXEMPT", "WHITENOISE_IMMUTABLE_FILE_TEST"}
# A regular expression where a value may stand: after a bracket, a comma, an operator.
SCRIPT_PATTERN = re.compile(
    r"(?:[(,=|&?:!]|\breturn)\s*/((?:[^/\\\n\[*]|\\.|\[[^\]\n]*\])(?:[^/\\\n\[]|\\.|\[[^\]\n]*\])*)/"
)

Use = Callable[[Any, Any], object]
Text = tuple[str, str, str]  # head, pump, tail: the head, the pump over and over, the tail


def whole(pattern: Any, text: Any) -> object:
    return pattern.fullmatch(text)


def begins(pattern: Any, text: Any) -> object:
    return pattern.match(text)


def anywhere(pattern: Any, text: Any) -> object:
    return pattern.search(text)


def everywhere(pattern: Any, text: Any) -> object:
    return pattern.sub(text[:0], text)


def through(function: Callable[[str], object]) -> Use:
    """The function of the code that applies the pattern, with the length it allows."""

    def use(pattern: Any, text: str) -> object:
        with contextlib.suppress(ValueError):
            return function(text)

    return use


@dataclass(frozen=True)
class Worst:
    """How the code uses a pattern, and a text which makes it work hard."""

    use: Use
    text: Text
    flags: int = 0


@dataclass(frozen=True)
class Ours:
    """Used on text that nobody outside writes; `what` says on which."""

    what: str


DNS = Worst(begins, ("a", "a-", "!"))
WORST: dict[str | bytes, Worst | Ours] = {
    r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]++': Worst(everywhere, ("", r'"\"', ""), re.DOTALL),
    r"\[(?P<index>[0-9]{1,9})\]": Worst(begins, ("[", "1", "")),
    r"expected (?P<expected>.+?)(?:, got (?P<got>.+))?": Ours("what the decoder says of a wrong type"),
    r"^[a-z0-9]([-._a-z0-9]{0,58}[a-z0-9])?$": Worst(whole, ("", "a", "-")),
    r"^(.+?)(Add|Update|Delete)$": Worst(whole, ("", "Add", "")),
    r"(?:^|_)([a-z])": Worst(everywhere, ("", "_a", "")),
    r"[-._/]": Worst(everywhere, ("", "-", "")),
    r"\d{1,4}y\d{1,3}d(?= ago)": Worst(everywhere, ("", "1y1d", "")),
    r"(?!\.\.?\Z)[^/%\0]{1,253}": Worst(whole, ("", "a", "/")),
    r"\{\{-?\s*(.*?)\s*-?\}\}": Ours("upstream's workloads"),
    r"open (http\S+)\s+\(logs you in": Ours("what our own service prints"),
    r'json:"(?P<name>[^",]*)(?P<options>[^"]*)"': Ours("upstream's sources"),
    r'protobuf:"[a-z0-9]+,(?P<number>[\d.]+),': Ours("upstream's sources"),
    r'patchMergeKey:"(?P<key>[^"]*)"': Ours("upstream's sources"),
    r'\s+(?P<name>\w+)\s+(?P<type>\w+)?\s*=\s*(?:(?P<cast>\w+)\()?"(?P<value>[^"]*)"\)?': Ours("upstream's sources"),
    r"//\s*\+(?P<name>[\w:]+)(?:=(?P<value>.*))?$": Ours("upstream's sources"),
    r'(protobuf:"[a-z0-9]+,)(\d+)': Ours("upstream's sources"),
    r"[+-]?\d+(\.\d*)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+|%)?|(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+|v?\d+\.\d+(\.\d+)?"
    r"|v\d+((alpha|beta)\d+)?|\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)"
    r"|([a-z0-9-]+\.)*(kubernetes|k8s|kschedweb)\.io(/[A-Za-z0-9._-]*)?|hugepages-\d+[KMGT]i|": Worst(
        whole, ("", "1m", "!"), re.ASCII
    ),
    r"([/:@,;\x00])": Worst(everywhere, ("", "/", "")),
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": Worst(whole, ("", "0", "-")),
    r'"(?P<double>(?:[^"\\]++|\\.)*+)"?|'
    r"'(?P<single>(?:[^'\\]++|\\.)*+)'?|(?P<key>(?<=\])\s*\.\s*)(?P<word>\w+)|//[^\n]*": Worst(
        everywhere, ("", r'"\"', "")
    ),
    r"[\s{}\"]": Worst(anywhere, ("", "a", "")),
    r"^(?!\._).*\.(?:(?:ya?ml|json)(?:\.gz)?|tar|tar\.gz|tgz)$": Worst(anywhere, ("", ".yaml", "!")),
    r"\s+": Ours("what a test's card says"),
    r"^Preempted by pod (\S+) on node ": Worst(whole, ("Preempted by pod ", "a", "")),
    rb'"resourceVersion":"(\d+)"': Ours("what a service under measurement sends"),
    r"[=:]": Worst(everywhere, ("", "=", "")),
    r"[yYnN]$": Worst(whole, ("", "y", "")),
    r"[a-z0-9]++(?:(?:__|[._]|-++)[a-z0-9]++)*+": Worst(whole, ("", "a-", "-")),
    r"[a-zA-Z0-9]++(?:-++[a-zA-Z0-9]++)*+": Worst(whole, ("", "a-", "-")),
    r"(?:[\t\n\f\r ]++|//[^\n]*+)*+": Worst(begins, ("", "/ ", "")),
    r"[A-Za-z_](?:[\w.]*\w)?|[(),]": Ours("the declarations of functions"),
    r"[0-9a-fA-F]*+": Worst(begins, ("", "0", "")),
    r"[A-Za-z][A-Za-z0-9+.-]*+(?=:)": Worst(begins, ("", "a", "")),
    r"%(?![0-9a-fA-F]{2}).{0,2}": Worst(everywhere, ("", "%0", "")),
    r"%[0-7].": Worst(everywhere, ("", "%", "")),
    r"([0-9]*+)(\.[0-9]*+)?(ns|us|µs|μs|ms|s|m|h)": Worst(begins, ("", "0", "")),
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d++))?(?:Z|([+-])(\d\d):(\d\d))": Worst(
        whole, ("2024-01-01T00:00:00.", "0", "")
    ),
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}": Worst(whole, ("", "0", "")),
    r"(?:[A-Za-z0-9+/]{4})*+(?<=.)|(?:[A-Za-z0-9+/]{4})*+[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=)": Worst(
        whole, ("", "a", "=")
    ),
    r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+": Worst(whole, ("", "a", " ")),
    r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]++:[^,;*&$|\s]++|eui.[A-Za-z0-9]{16}|naa.[A-Za-z0-9]{32}": Worst(
        whole, ("iqn.2000-01.", "a.", ":")
    ),
    r"\d{4}-\d\d-\d\d": Worst(whole, ("", "0", "")),
    r"^(\d{1,2}):(\d{2})(?::(\d{2}))?$": Worst(whole, ("", "0:", "")),
    r"^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?$": Worst(whole, ("2026-1-1 ", "0:", "")),
    r"(\d\d):(\d\d):(\d\d)(?:.\d++)?(?:z|([+-])(\d\d):(\d\d))": Worst(whole, ("00:00:00.", "0", "")),
    r"%(?:%|(?:\.(\d*+))?(.)?)": Worst(everywhere, ("", "%.", "")),
    (
        r"0x[0-9a-fA-F]++[uU]?|[0-9]++\.[0-9]++(?:[eE][+-]?[0-9]++)?|\.[0-9]++(?:[eE][+-]?[0-9]++)?"
        r"|[0-9]++[eE][+-]?[0-9]++|[0-9]++[uU]?"
    ): Worst(begins, ("", "0", "e")),
    (
        r"""(?:[bB]?[rR]|[rR][bB])(?:"{3}(?s:.*?)"{3}|'{3}(?s:.*?)'{3}|"[^"\n]*+"|'[^'\n]*+')"""
        r"""|[bB]?(?:"{3}(?s:(?:[^\\]|\\.)*?)"{3}|'{3}(?s:(?:[^\\]|\\.)*?)'{3}"""
        r"""|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')"""
    ): Worst(begins, ("'''", "\\'", "")),
    (
        r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.|$))"
    ): Worst(everywhere, ("", "\\x0", "")),
    r'running "([A-Za-z]+)" filter plugin: ': Ours("messages of the scheduler under comparison"),
    r"[A-Za-z_][A-Za-z0-9_]*+": Worst(begins, ("", "a", "")),
    r"&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}]": Worst(begins, ("", "&", "")),
    r"vol-[^/]*": Worst(whole, ("vol-", "vol-", "/")),
    r"Object missing required field `(?P<field>[^`]*)`": Worst(whole, ("Object missing required field `", "a", "")),
    r"Object contains unknown field `(?P<field>[^`]*)`": Worst(whole, ("Object contains unknown field `", "a", "")),
    r"[A-Za-z0-9_-]+": Worst(whole, ("", "a-", ".")),
    r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])": Worst(everywhere, ("", "[0", "")),
    r"Expected `([^`]*)`, got `([^`]*)`": Worst(whole, ("Expected `", "`, got `", "!")),
    r"Expected `(?:int|float)` >= (-?[\d.]+)": Worst(whole, ("Expected `int` >= ", "0", "!")),
    r"Expected `(?:int|float)` <= (-?[\d.]+)": Worst(whole, ("Expected `int` <= ", "0", "!")),
    r"Expected `str` of length >= (\d+)": Worst(whole, ("Expected `str` of length >= ", "0", "!")),
    r"Expected `str` of length <= (\d+)": Worst(whole, ("Expected `str` of length <= ", "0", "!")),
    r"(?s:Expected `str` matching regex .*)": Worst(whole, ("Expected `str` matching regex", " '", "")),
    r"^[^\x00]*$": Worst(anywhere, ("", "a", "\0")),
    r"Expected `datetime` with a timezone component": Worst(whole, ("Expected `datetime`", " with", "")),
    r"Invalid RFC3339 encoded datetime": Worst(whole, ("Invalid RFC", "3339", "")),
    r"([+-]?+)(\d*+)(?:(\.)(\d*+))?+([eEinumkKMGTP]*+[-+]?+\d*+)": Worst(whole, ("", "1", "x")),
    r"[eE]([+-]?\d+)": Worst(whole, ("e", "1", "x")),
    r"([1-9]\d{0,8})(|m|Ki|Mi|Gi)": Worst(whole, ("", "1", "Kx")),
    r"[+-]?\d+": Worst(whole, ("-", "1", "x")),
    r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]": Worst(whole, ("", "a", "-")),
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?": Worst(whole, ("", "a", "-")),
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*": Worst(whole, ("a", ".aa", "-")),
    r"[-a-z0-9]+": Worst(whole, ("", "a-", "!")),
    r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)": Worst(through(Duration.parse), ("", "1", "")),
    r"([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)": Worst(whole, ("", "1.1m", "!")),
    r"^[a-z0-9]([-._a-z0-9]{0,58}[a-z0-9])?\Z": DNS,
    rb"(?<!\\)(?:\\\\)*+\\u0000": Worst(anywhere, ("", "\\", "u")),
    r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?": DNS,
    rb'"(?:[^"\\]++|\\.)*+"?': Worst(everywhere, ('"', '\\"', ""), re.DOTALL),
    r"(?P<sign>[-+]?)(?:(?P<ten>0|[1-9][0-9_]*)|0x(?P<hex>[0-9a-fA-F_]+)|0b(?P<two>[01_]+)|0o?(?P<eight>[0-7_]+))": (
        Worst(whole, ("0o", "7_", "!"))
    ),
    r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?": Worst(whole, ("0", "0_", ".0e!")),
    r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)": Worst(whole, (".", "inf", "")),
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z": DNS,
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?": Worst(whole, ("", "a.", "-")),
    r"[\x00-\x1f\x7f]": Worst(anywhere, ("", "a", "")),
    r"%(?![0-9A-Fa-f]{2}).{0,2}": Worst(anywhere, ("", "%41", "")),
    r"[!-~]{1,128}": Worst(whole, ("", "a", " ")),
    r"(/login/once/)[^\s'\"?]+": Worst(everywhere, ("", "/login/once/", "'")),
    r"(\bksched_)[A-Za-z0-9_-]{20,}": Worst(everywhere, ("", "-ksched_-", ".")),
    r"(\bksched_(?:session|csrf)=)[^;\s'\"]+": Worst(everywhere, ("", "ksched_session=;", "")),
    r"((?i:\bbearer)\s++)[^\s'\"]+": Worst(everywhere, ("bearer", " ", "")),
    r"(://[^:/@\s]*+:)[^@/\s]++(?=@)": Worst(everywhere, ("a://", "a://:a", "")),
    r"((?i:\bpassword)['\"]?\s*+[=:]\s*+['\"]?)[^\s&'\"]+": Worst(everywhere, ("password", " ", "")),
    r"^[A-Za-z0-9._-]{0,100}$": Ours("a setting"),
    r"^ws/clusters/(?P<cluster_id>\d{1,18})/$": Worst(begins, ("ws/clusters/", "1", "/")),
    r"(<!-- measured: (?P<name>[a-z0-9 ]+) -->\n).*?(<!-- end -->)": Ours("a page of docs/"),
    r"[^\w\- ]": Ours("a page of docs/"),
    r"(?!\._).*\.(?:(?:ya?ml|json)(?:\.gz)?|tar|tar\.gz|tgz)": Worst(whole, ("", ".yaml", "!"), re.IGNORECASE),
    "[0-9]{1,19}": Worst(whole, ("", "1", "")),
    rb"[^\0]": Worst(anywhere, ("", "\0", "")),
    rb"^==== START (logs for container [^\n]*?) ====\r?$": Worst(
        everywhere, ("==== START logs for container ", " ====", "x"), re.MULTILINE
    ),
    rb'"(?:[^"\\\n]++|\\.)*+"?': Worst(everywhere, ("", '"\\', "")),
    rb"^[{\[]": Worst(anywhere, ("", "\n", ""), re.MULTILINE),
    rb"[ \t\r\n\x1e]*+": Worst(begins, ("", " ", "")),
    rb"^(?:\xef\xbb\xbf)?---(?=[ \t\r\n]|\Z)": Worst(everywhere, ("", "---\n--", ""), re.MULTILINE),
    r"[a-z][a-z0-9+.-]*://": Worst(begins, ("", "a+", ":/"), re.IGNORECASE),
    rb'\{"type":"frame","from":\[(\d+),(\d+)\],"to":\[(\d+),(\d+)\]': (
        Worst(begins, ('{"type":"frame","from":[', "1", ""))
    ),
    rb'\{"type":"hello","cursor":\[(\d+),(\d+)\]': Worst(begins, ('{"type":"hello","cursor":[', "1", "")),
    r"[^a-z0-9]+": Worst(everywhere, ("", "-a", "")),
    r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$": DNS,
    r"^\d+(\.\d+)?(m|k|[KMGTPE]i?)?$": Worst(whole, ("", "0", "!")),
    r"test_(\d{3})_": Ours("names of our tests"),
    r"v(\d+)\.": Ours("what node says its version is"),
    r"(\d+)": Ours("what postgres says its version is"),
    r"\d+": Ours("folders of installed versions"),
    r"(<!-- settings: [^\n]* -->\n).*?(<!-- end -->)": Ours("a page of docs/"),
    r"^\| (\w+ ?\*?) *\| (.*?) *\| (.*)$": Ours("a docstring"),
    r"^(healthz|livez|readyz)(/[\w-]+)?$": Worst(anywhere, ("healthz/", "-a", "/")),
    r"^metrics(/\w+)?$": Worst(anywhere, ("metrics/", "a", "/")),
    r"^.+-[0-9A-Za-z_-]{8}\.\w+$": Worst(begins, ("", "-aaaaaaa.a", "/")),
    r"^(walk|node|total|(raw|normalized|weighted):[^\x00]{1,128})$": Worst(anywhere, ("raw:", "a", "")),
    r"\{(\w+)((?:\|[^|}]+)*)\}": Ours("texts of the dashboard"),
    r"\.0$": Ours("digits of a number"),
    r"\.?0+$": Ours("digits of a number"),
    r"^[A-Za-z0-9_./@%+-][A-Za-z0-9_./@%+:=, ()-]*$": Worst(anywhere, ("", "a: ", "\n\n")),
    r"^(?:true|false|null|yes|no|on|off|~|[-+.]?[0-9][0-9_.eExXoO+:-]*)$|^-|: | #|[: ]$": (
        Worst(anywhere, ("1", "1:", "!"), re.IGNORECASE)
    ),
    r"^\n": Worst(everywhere, ("", "\n", "")),
    r"^http": Worst(everywhere, ("", "http", "")),
    r"([a-z])([A-Z])": Worst(everywhere, ("", "aA", "")),
    r"(.*ontainers\[\d+\]\.image: Required value)|(spec: Required value: must specify a volume type)"
    r"|(spec\.ports: Required value)|(spec\.template\.spec\.restartPolicy: Required value: .*)": (
        Worst(whole, ("", "ontainers[0].image: ", ""))
    ),
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    r"(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?": (
        Worst(whole, ("1.0.0-1", "1.", "!"))
    ),
    r"[a-z]([-a-z0-9]*[a-z0-9])?": Worst(whole, ("a", "a-", "!")),
    r"[a-z0-9_]([-_a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*": Worst(whole, ("a", "a-", "!")),
    r"[-._a-zA-Z0-9]+": Worst(whole, ("", "a-", "!")),
    r"[-A-Za-z0-9]+": Worst(whole, ("", "a-", "!")),
    r"[A-Za-z_][A-Za-z0-9_]*": Worst(whole, ("a", "a_", "!")),
    r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?": Worst(whole, ("a", "a.", "!")),
    r"[0-9]+%": Worst(whole, ("", "1", "!")),
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)": (
        Worst(whole, ("2026-01-01T00:00:00.", "0", "!"))
    ),
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[a-z]+))?/?": (
        Worst(whole, ("/apis/a/v1/namespaces/", "a/", "!"))
    ),
    r"^(/api/[^/]+|/apis/[^/]+/[^/]+)/watch/": Worst(begins, ("/apis/", "a/", "")),
    r"!=|==|[!=<>(),]|[^\s!=<>(),]+": Worst(everywhere, ("", " a=", "")),
    r"(?:[^\\,]|\\.|\\$)+": Worst(everywhere, ("", "\\a,", "\\"), re.DOTALL),
    "!=|==|=": Worst(anywhere, ("", "!a", "")),
    r"\\.?|[,=]": Worst(everywhere, ("", "\\,", "\\"), re.DOTALL),
    r"v1\.([0-9]|[1-9][0-9]*)": Worst(whole, ("v1.", "1", "!")),
    r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?": Worst(whole, ("a", "a,", "!")),
    r"[A-Za-z.\-_0-9+]{1,14}": Worst(whole, ("", "a-", "!")),
    r"[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+|[+-]?0": Worst(whole, ("", "1", "!")),
    r"[^A-Za-z0-9+/=]": Worst(anywhere, ("", "a=", "")),
    r"[\s,]+": Worst(everywhere, ("", " a", "")),
    r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}": Worst(whole, ("", "a-", "!")),
    "#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})": Worst(whole, ("#", "a", "!")),
    r"[^@\s]+@[^@\s]+": Worst(whole, ("", "a", "@")),
    r"v(\d+)(?:(alpha|beta)(\d+))?": Worst(whole, ("v", "1", "!")),
    r"\.((?:\\.|[^.\[\]\\])++)": Worst(begins, (".", "\\a", "\\")),
    r"""\[\s*+(?:'((?:\\.|[^'\\])*+)'|"((?:\\.|[^"\\])*+)")\s*+\]""": Worst(begins, ("['", "\\a ", "")),
    r"\[\s*+(-?\d*+)\s*+(?:(:)\s*+(-?\d*+)\s*+(?::\s*+(-?\d*+)\s*+)?)?\]": Worst(begins, ("[", " ", "")),
    r"\[\?\(\s*+@([^()]*+)\)\]": Worst(begins, ("[?(", " @", "")),
    r"[=!]=|[<>]=?": Worst(anywhere, ("", "!", "")),
    r"\\(.)": Worst(everywhere, ("", "\\a", "\\")),
    r"\[\s*+\*\s*+\]": Worst(begins, ("[", " ", "")),
}  # fmt: skip


def found() -> dict[str | bytes, list[str]]:
    """Every pattern with the places where it stands."""
    places: dict[str | bytes, list[str]] = {}
    for place, pattern in (*in_python(), *in_scripts()):
        places.setdefault(pattern, []).append(place)
    return places


def test_every_pattern_has_a_worst_case_here() -> None:
    patterns = found()
    new = {pattern: places for pattern, places in patterns.items() if pattern not in WORST}
    assert not new, "name in WORST how these are used, and a text they find hard"
    assert not WORST.keys() - patterns.keys(), "these are no longer in the code"


def test_the_code_is_searched_where_patterns_can_be() -> None:
    assert {"scheduler_core", "kschedweb", "tools", "frontend"} == {
        place.partition("/")[0] for places in found().values() for place in places
    }


@pytest.mark.parametrize("pattern", [one for one, case in WORST.items() if isinstance(case, Worst)], ids=str)
def test_pattern_needs_a_constant_time_per_character(pattern: str | bytes) -> None:
    case = WORST[pattern]
    assert isinstance(case, Worst)
    for lengths, text in ((GIVEN_LENGTHS, case.text), *((GENERATED_LENGTHS, text) for text in generated(pattern))):
        assert (slow := too_slow(pattern, case, lengths, text)) is None, slow


@pytest.mark.parametrize(
    ("pattern", "use", "text"),
    [
        (r"([+-]?)(\d*)(?:(\.)(\d*))?([eEinumkKMGTP]*[-+]?\d*)", whole, ("", "1", "x")),
        (r"(\b[a-z+]+://[^:/@\s]*:)[^@/\s]+(?=@)", everywhere, ("", "a+", "")),
        (r"(a+)+b", whole, ("", "a", "")),
    ],
    ids=["quadratic", "quadratic over starts", "exponential"],
)
def test_slow_pattern_is_noticed(pattern: str, use: Use, text: Text) -> None:
    assert too_slow(pattern, Worst(use, text), GIVEN_LENGTHS, text)


def too_slow(pattern: str | bytes, case: Worst, lengths: tuple[int, ...], text: Text) -> str | None:
    """The first length that takes too long, in words; None when none does."""
    compiled = re.compile(pattern, case.flags)
    head, pump, tail = text
    for length in lengths:
        given: Any = head + pump * (length // len(pump)) + tail
        if isinstance(pattern, bytes):
            given = given.encode()
        seconds = LIMIT_SECONDS
        for _ in range(2):  # the collector may run in one of them
            began = time.thread_time()
            case.use(compiled, given)
            seconds = min(seconds, time.thread_time() - began)
        if seconds >= LIMIT_SECONDS:
            return f"{length} characters, {text!r}: at least {seconds:.2f} s"
    return None


def generated(pattern: str | bytes) -> Iterator[Text]:
    """Repetitions of one and of two characters of the pattern, with and without an end that fits nowhere."""
    own = pattern.decode() if isinstance(pattern, bytes) else pattern
    letters = list(dict.fromkeys(letter for letter in "a1 " + own if letter not in "\\()[]{}^$|?*"))[:ALPHABET]
    for pump in (*letters, *map("".join, permutations(letters, 2))):
        for tail in ("", "\n\x01"):
            yield "", pump, tail


def in_python() -> Iterator[tuple[str, str | bytes]]:
    """(place, pattern) of both packages; a pattern that is no literal is an error."""
    for package in ("scheduler_core", "kschedweb", "tools"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                for written in _patterns(node):
                    place = f"{path.relative_to(ROOT)}:{written.lineno}"
                    try:
                        value = ast.literal_eval(written)
                    except ValueError:
                        pytest.fail(f"{place}: write the pattern as a literal, compiled at the top of the module")
                    for one in [value] if isinstance(value, str | bytes) else value:
                        yield place, one


def _patterns(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        if any(isinstance(target, ast.Name) and target.id in SETTINGS for target in node.targets):
            yield node.value
    elif isinstance(node, ast.Call):
        called = node.func
        of_re = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if node.args and ((of_re and name in METHODS) or name in NAMES):
            yield node.args[0]
        yield from (keyword.value for keyword in node.keywords if keyword.arg in KEYWORDS)


def in_scripts() -> Iterator[tuple[str, str]]:
    """(place, pattern) of the dashboard."""
    for path in sorted((ROOT / "frontend" / "src").rglob("*")):
        if path.suffix in (".ts", ".svelte") and not path.name.endswith((".test.ts", ".gen.ts")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for written in SCRIPT_PATTERN.finditer(line):
                    yield f"{path.relative_to(ROOT)}:{number}", written[1]
