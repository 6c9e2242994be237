"""Functions of addresses, networks, URLs, formats, moments and durations give what those of Kubernetes give."""

from __future__ import annotations

import pytest

from scheduler_core.cel.selectors import CompileError, SelectorError, compile_selector
from scheduler_core.cel.values import Map


def answer(expression: str) -> bool | str:
    try:
        return compile_selector(expression).accepts(Map([("driver", "d"), ("attributes", Map()), ("capacity", Map())]))
    except (CompileError, SelectorError) as error:
        return str(error)


HOLDS = {
    "addresses": [
        'isIP("127.0.0.1") && isIP("::1") && !isIP("127.0.0.1/24") && !isIP("01.2.3.4") && !isIP("1.2.3")',
        '!isIP("::ffff:1.2.3.4") && !isIP("fe80::1%eth0") && isIP("1::1.2.3.4") && !isIP("1:2:3:4:5:6:7::8:9")',
        'ip("2001:DB8::ABCD") == ip("2001:db8::abcd") && ip("1.2.3.4") != ip("1.2.3.5")',
        'ip.isCanonical("2001:db8::abcd") && !ip.isCanonical("2001:DB8::ABCD") && !ip.isCanonical("2001:db8:0::1")',
        'ip("127.0.0.1").family() == 4 && ip("::1").family() == 6 && string(ip("0:0:0::1")) == "::1"',
        'ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified() && !ip("127.0.0.1").isUnspecified()',
        'ip("127.8.8.8").isLoopback() && ip("::1").isLoopback() && !ip("192.168.0.1").isLoopback()',
        'ip("224.0.0.1").isLinkLocalMulticast() && !ip("224.0.1.1").isLinkLocalMulticast()',
        'ip("ff02::fb").isLinkLocalMulticast() && ip("ff12::1").isLinkLocalMulticast()',
        'ip("169.254.9.9").isLinkLocalUnicast() && ip("fe80::1").isLinkLocalUnicast()',
        'ip("192.168.0.1").isGlobalUnicast() && ip("2001:db8::1").isGlobalUnicast()',
        '!ip("255.255.255.255").isGlobalUnicast() && !ip("ff0e::1").isGlobalUnicast()',
        "type(ip('1.2.3.4')) == net.IP && type(cidr('1.2.3.4/8')) == net.CIDR",
    ],
    "networks": [
        'isCIDR("192.168.0.0/16") && isCIDR("::1/128") && !isCIDR("1.2.3.4/33") && !isCIDR("1.2.3.4") '
        '&& !isCIDR("1.2.3.4/08") && !isCIDR("::ffff:1.2.3.4/100")',
        'cidr("192.168.0.0/24").containsIP(ip("192.168.0.1")) && !cidr("192.168.0.0/24").containsIP("192.168.1.1")',
        'cidr("192.168.0.0/16").containsCIDR("192.168.10.0/24") && cidr("10.0.0.0/8").containsCIDR(cidr("10.0.0.0/8"))',
        '!cidr("192.168.1.0/24").containsCIDR("192.168.0.0/16") && !cidr("::/0").containsCIDR("10.0.0.0/8")',
        'cidr("192.168.0.1/24").ip() == ip("192.168.0.1") && cidr("192.168.0.1/24").prefixLength() == 24',
        'cidr("192.168.0.1/24").masked() == cidr("192.168.0.0/24") && cidr("1.2.3.4/8") != cidr("1.2.3.4/8").masked()',
        'string(cidr("192.168.0.1/24")) == "192.168.0.1/24"',
    ],
    "URLs": [
        'isURL("https://user:pass@example.com:80/path?query=val#fragment") && isURL("/absolute-path")',
        '!isURL("relative-path") && !isURL("https://a:b:c/") && !isURL("../x") && !isURL("https://[::1") && !isURL("")',
        'url("https://example.com:80/").getHost() == "example.com:80" && url("https://example.com/").getPort() == ""',
        'url("https://[::1]:80/").getHost() == "[::1]:80" && url("https://[::1]:80/").getHostname() == "::1"',
        'url("HTTPS://example.com/").getScheme() == "https" && url("/path").getScheme() == ""',
        'url("https://example.com/path with spaces/").getEscapedPath() == "/path%20with%20spaces/"',
        'url("https://example.com/a%2Fb").getEscapedPath() == "/a%2Fb" && url("mailto:x@y").getHost() == ""',
        'url("https://example.com/path?k1=a&k2=b&k2=c").getQuery() == {"k1": ["a"], "k2": ["b", "c"]}',
        'url("https://example.com/path?key with spaces=a+b%21").getQuery() == {"key with spaces": ["a b!"]}',
        'url("https://example.com/path?").getQuery() == {} && url("https://example.com/p#?a=b").getQuery() == {}',
    ],
    "formats": [
        '!format.dns1123Label().validate("my-label").hasValue() && format.dns1123Label().validate("My").hasValue()',
        '!format.dns1035LabelPrefix().validate("label-").hasValue() && format.dns1035Label().validate("9a").hasValue()',
        '!format.qualifiedName().validate("a.io/b").hasValue() && !format.labelValue().validate("").hasValue()',
        'format.uuid().validate("123").value() == ["does not match the UUID format"]',
        '!format.uuid().validate("123e4567-E89b-12d3-a456-426614174000").hasValue()',
        '!format.byte().validate("aGVsbG8=").hasValue() && format.byte().validate("aGVsbG8").hasValue() '
        '&& format.byte().validate("").hasValue()',
        '!format.date().validate("2024-02-29").hasValue() && format.date().validate("2023-02-29").hasValue()',
        '!format.datetime().validate("2021-01-01T00:00:00Z").hasValue() && format.datetime().validate("x").hasValue()',
        'format.uri().validate("x y").value()[0] == "parse \\"x y\\": invalid URI for request"',
        'format.named("dns1123Label").hasValue() && !format.named("nope").hasValue()',
        'format.named("uri").value() == format.uri() && format.uri() != format.date()',
    ],
    "moments": [
        'timestamp("2024-02-29T12:30:45.125Z").getFullYear() == 2024 && timestamp(0) < timestamp(1)',
        'timestamp("2024-02-29T12:30:45.125Z").getMonth() == 1 '
        '&& timestamp("2024-03-01T00:00:00Z").getDayOfYear() == 60',
        'timestamp("2024-02-29T12:30:45Z").getDate() == 29 && timestamp("2024-02-29T12:30:45Z").getDayOfMonth() == 28',
        'timestamp("2024-02-25T12:30:45Z").getDayOfWeek() == 0 '
        '&& timestamp("2024-02-25T12:30:45.125Z").getMilliseconds() == 125',
        'timestamp("2024-02-29T23:30:00Z").getHours("+02:00") == 1 '
        '&& timestamp("2024-02-29T23:30:00Z").getDate("+02:00") == 1',
        'timestamp("2024-02-29T01:30:00Z").getHours("-02:30") == 23 '
        '&& timestamp("2024-07-01T12:00:00Z").getHours("Europe/Berlin") == 14',
        'timestamp("2024-01-01T01:00:00+01:00") == timestamp("2024-01-01T00:00:00Z") '
        '&& int(timestamp("1970-01-01T00:01:00Z")) == 60',
        'string(timestamp("2024-01-01T00:00:00.500Z")) == "2024-01-01T00:00:00.5Z"',
        'timestamp("2024-01-02T00:00:00Z") - timestamp("2024-01-01T00:00:00Z") == duration("24h")',
        'timestamp("2024-01-01T00:00:00Z") + duration("1h") - duration("60m") == timestamp("2024-01-01T00:00:00Z")',
        'duration("1h") + timestamp(0) == timestamp(3600)',
        "type(timestamp(0)) == google.protobuf.Timestamp && type(duration('1s')) == google.protobuf.Duration",
    ],
    "durations": [
        'duration("1h30m").getMinutes() == 90 && duration("-90s").getMinutes() == -1 '
        '&& duration("1.5s").getMilliseconds() == 1500',
        'duration("1h") > duration("59m") && duration("0") == duration("0s") && duration("1us") == duration("1µs")',
        'string(duration("90m")) == "5400s" && string(duration("-1.5s")) == "-1.5s" && int(duration("2ns")) == 2',
        '[duration("1m"), duration("1s")].sum() == duration("61s") '
        '&& [duration("1s"), duration("1m")].max() == duration("1m")',
        'duration("1m") - duration("2m") == duration("-1m") && duration(".5h") == duration("30m")',
    ],
    "optional values": [
        "[?optional.of(1), ?optional.none(), 2] == [1, 2] && {?'a': optional.none(), 'b': 1} == {'b': 1}",
        "optional.of(2).optMap(x, x * 2).value() == 4 && !optional.none().optMap(x, 1).hasValue()",
        "optional.of([1]).optFlatMap(x, x.first()).value() == 1",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]",
        "optional.unwrap([optional.none(), optional.of('a')]) == ['a'] && optional.of({'a': 1}).a.value() == 1",
    ],
    "formatted texts": [
        "'%s has %d, 100%%'.format([dyn('a'), dyn(3)]) == 'a has 3, 100%' && '%.2f'.format([1234.5]) == '1,234.50'",
        "'%s'.format([[1, 2]]) == '[1, 2]'",
        """'%s'.format([{'b': 2.0, 'a': 1.0}]) == '{"a":1.000000, "b":2.000000}'""",
        "'%b %o %x %X'.format([5, 9, 255, 255]) == '101 11 ff FF'",
        "'%b%x'.format([dyn(true), dyn('hi')]) == '16869'",
        "'%e'.format([1052.032911275]) == '1.052033\u202f×\u202f10⁰³'",
        """strings.quote('a"\\n') == r'"a\\"\\n"'""",
        """'%s'.format([duration('90s')]) == '90s' && '%s'.format([[duration('90s')]]) == '[duration("90s")]'""",
    ],
    "lists": [
        "['bb', 'a'].sortBy(x, x.size()) == ['a', 'bb'] && [3, 1, 2].sortBy(x, -x) == [3, 2, 1]",
        "[1, 2, 3].exists_one(i, v, v == 2 && i == 1)",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "expression", [pytest.param(each, id=f"{name} {index}") for name in HOLDS for index, each in enumerate(HOLDS[name])]
)
def test_expression_holds(expression: str) -> None:
    assert answer(expression) is True


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("ip(device.driver).family() == 4", 'IP Address "d" parse error during conversion from string: ParseAddr("d"): '
         "unable to parse IP"),
        ('ip("1.2.3.").family() == 4', 'IP Address "1.2.3." parse error during conversion from string: '
         'ParseAddr("1.2.3."): IPv4 field must have at least one digit (at ".")'),
        ('ip("1:2").family() == 6', 'IP Address "1:2" parse error during conversion from string: ParseAddr("1:2"): '
         "address string too short"),
        ('ip("::ffff:1.2.3.4").family() == 6', 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ('cidr("1.2.3.4").prefixLength() == 1', "network address parse error during conversion from string: network "
         'address parse error during conversion from string: netip.ParsePrefix("1.2.3.4"): no \'/\''),
        ('url("nope").getHost() == ""', 'URL parse error during conversion from string: parse "nope": invalid URI for '
         "request"),
        ("duration(device.driver) == duration('1s')",
         "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("timestamp(device.driver) == timestamp(0)",
         "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("timestamp(device.driver.size() + 253402300799) == timestamp(0)", "timestamp overflow"),
        ("ip('1.2.3.4') == dyn('1.2.3.4')", "no such overload"),
        ("'%d'.format([dyn('a')]) == ''",
         "error during formatting: decimal clause can only be used on integers, was given string"),
        ("dyn('%d %d').format([1]) == ''", "index 1 out of range"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_told(expression: str, error: str) -> None:
    assert answer(expression) == f"CEL runtime error: {error}"
