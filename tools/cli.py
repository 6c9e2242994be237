"""The commands of ./ksched in a checkout: those of the service (`kschedweb.ops.cli`) and the developers' own."""

from __future__ import annotations

import argparse
import sys

from kschedweb.ops import cli
from tools.bench.options import add_options as add_bench_options

TEST_GROUPS = ("web", "core", "front", "browser", "faults", "attack")


def main(words: list[str]) -> int:
    if words[:1] == ["conformance"]:
        from tools import conformance

        return conformance.main(words[1:])
    options = parser().parse_args(words)
    return cli.reported(lambda: dispatch(options))


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = cli.top_parser()
    commands = cli.add_commands(top)

    test_text = "Run the checks and all tests, or those of a GROUP or PATH only."
    test = commands.add_parser("test", help=test_text, description=test_text)
    what = f"a group ({', '.join(TEST_GROUPS)}), a folder, a file, or file::test"
    test.add_argument("words", nargs="*", metavar="GROUP|PATH", help=what)
    test.add_argument("-k", default="", dest="word", metavar="WORD", help="only tests with that word in their name")
    test.add_argument("--changed", action="store_true", help="only tests that the changes since main may concern")
    test.add_argument(
        "--without", action="append", default=[], choices=TEST_GROUPS, metavar="GROUP", help="leave this group out"
    )
    test.add_argument("--long", action="store_true", help="also run the tests marked slow")

    bench_text = "Measure the speed and the memory use of the engine on workloads."
    add_bench_options(commands.add_parser("bench", help=bench_text, description=bench_text))
    check_text = "Check format, lint, types, import contracts, migrations, structure and generated files."
    commands.add_parser("check", help=check_text, description=check_text)
    commands.add_parser("conformance", help="Compare decisions with recorded ones of kube-scheduler.", add_help=False)
    return top


def dispatch(options: argparse.Namespace) -> int:
    if options.command == "test":
        from tools.testing import run

        return run(
            words=options.words,
            without=options.without,
            word=options.word,
            only_changed=options.changed,
            long=options.long,
        )
    if options.command == "check":
        from tools.testing import check

        return check()
    if options.command == "bench":
        from tools.bench import command

        return command.run(options)
    return cli.dispatch(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
