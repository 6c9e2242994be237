"""The commands of ./ksched, once its environment is there. Each command's own module does the work."""

import argparse
import importlib
import sys
from collections.abc import Callable

from kschedweb.ops import certificates, postgres, supervisor, up, valkey
from kschedweb.ops.commands import access, clusters, history, lists, pods, service
from kschedweb.ops.commands.adding import Commands

# What the user can solve.
PROBLEMS = (
    up.UpProblem,
    certificates.CertificateProblem,
    postgres.PostgresProblem,
    valkey.ValkeyProblem,
    PermissionError,
)


def main(words: list[str]) -> int:
    top = top_parser()
    add_commands(top)
    options = top.parse_args(words)
    return reported(lambda: dispatch(options))


def reported(command: Callable[[], int]) -> int:
    """Run a command; its exit code. A problem the user can solve is one line on stderr and 1, Ctrl-C is 130."""
    try:
        return command()
    except supervisor.DataDirectoryInUse as problem:
        print(f"ksched: {problem}; stop it with `./ksched down`, or choose another --data-dir", file=sys.stderr)
    except PROBLEMS as problem:
        print(f"ksched: {problem}", file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


def top_parser() -> argparse.ArgumentParser:
    """The command line without commands."""
    return argparse.ArgumentParser(prog="ksched", description="A kube-scheduler that keeps every decision.")


def add_commands(top: argparse.ArgumentParser) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    """Add the service's commands with their options; the returned action takes further ones."""
    parsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands = Commands(parsers)
    for group in (service, clusters, pods, lists, history, access):
        group.add(commands)
    return parsers


def dispatch(options: argparse.Namespace) -> int:
    data = options.data_dir.resolve()
    if options.command == "up":
        return up.up(data_dir=data, host=options.host, port=options.port, sample=not options.no_sample, tls=options.tls)
    if options.command == "down":
        return up.down(data_dir=data)
    if options.command == "status":
        return up.status(data_dir=data)
    module, _, name = options.run.partition(".")
    run: Callable[..., int] = getattr(importlib.import_module(f"kschedweb.ops.{module}"), name)
    return run(data_dir=data, options=options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
