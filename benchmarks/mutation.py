"""Mutants of the engine and of the metrics: which of them their fast tests kill.

    python benchmarks/mutation.py                      every mutant, resumable, into mutation.json
    python benchmarks/mutation.py --again              the survivors once more, after better tests
    python benchmarks/mutation.py metrics/theory.py    the mutants of one file
    python benchmarks/mutation.py --share 0.1          of each file this share, by chance
    python benchmarks/mutation.py --report             print what is known

The mutations are cosmic-ray's (`pip install cosmic-ray==8.7.0`). Its own runner starts a process
for each mutant, most of whose time would go into importing torch; here everything but this package
is imported once, and a fork runs the tests on each mutant. (mutmut leaves everything alone that has
a decorator: properties, and all that numba compiles.) Compiled functions are mutated and run as
plain Python. A mutant that differs only in annotations is none. A fork that takes too much
processor time is killed, and counts as caught.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from types import ModuleType

# Imported for the forks, which find these ready.
import hypothesis.strategies
import numba
import pydantic  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import torch
import transformers.generation.utils  # noqa: F401
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).with_name("mutation.json")
COMPILED = "engine/rows.py"
FILES = [
    str(path.relative_to(ROOT / "specdemo"))
    for room in ("engine", "metrics")
    for path in sorted((ROOT / "specdemo" / room).glob("*.py"))
]
_SECONDS = 150  # of processor time; all tests take about 60


@dataclass(frozen=True)
class Mutant:
    """A file with one change."""

    file: str
    operator: str
    occurrence: int
    code: str
    change: str

    @property
    def key(self) -> str:
        """What it is known by while its line stays as it is."""
        return f"{self.file} {self.operator} {self.occurrence}: {self.change}"


class Planted(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports the mutant in place of its file."""

    def __init__(self, mutant: Mutant) -> None:
        self._name = "specdemo." + mutant.file.removesuffix(".py").replace("/", ".")
        self._name = self._name.removesuffix(".__init__")
        self._path = ROOT / "specdemo" / mutant.file
        self._code = mutant.code

    def find_spec(
        self, fullname: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        is_package = self._path.name == "__init__.py"
        folders = [str(self._path.parent)] if is_package else None
        return importlib.util.spec_from_file_location(
            fullname, self._path, loader=self, submodule_search_locations=folders
        )

    def get_filename(self, fullname: str) -> str:
        return str(self._path)

    def get_data(self, path: str | bytes) -> bytes:
        return self._code.encode()


class Quickly:
    """Makes hypothesis try the same examples each time, and not look for smaller ones."""

    def pytest_configure(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "mutation", deadline=None, derandomize=True, database=None, phases=phases
        )
        hypothesis.settings.load_profile("mutation")


def mutants(file: str) -> Iterator[Mutant]:
    """Every mutant of a file that differs in more than annotations, each text once."""
    source = (ROOT / "specdemo" / file).read_text()
    meanings = {meaning(source)}
    for name in operator_names():
        if get_operator(name).arguments():
            continue
        operator = get_operator(name)()
        places = sum(
            1 for node in ast_nodes(get_ast(source)) for _ in operator.mutation_positions(node)
        )
        for occurrence in range(places):
            code = mutate_code(source, operator, occurrence)
            if code is None or (found := meaning(code)) in meanings:
                continue
            meanings.add(found)
            short = name.removeprefix("core/")
            yield Mutant(file, short, occurrence, code, changed_line(source, code))


def meaning(code: str) -> str:
    """A program without its annotations, which nothing here reads while it runs."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.dump(tree)


def changed_line(source: str, code: str) -> str:
    """The line that a mutation changed, before → after."""
    lines = list(unified_diff(source.splitlines(), code.splitlines(), n=0, lineterm=""))[3:]
    before, after = ([line[1:].strip() for line in lines if line[0] == sign] for sign in "-+")
    return f"{' '.join(before)} → {' '.join(after)}"


def tests_of(file: str) -> list[str]:
    """The tests that may kill a mutant of a file, the likeliest first."""
    room, name = file.removesuffix(".py").split("/")
    if file == COMPILED:
        names = ["rows", "sampling", "distribution"]
        return [f"tests/engine/test_{name}.py" for name in names]
    own = ROOT / f"tests/{room}/test_{name}.py"
    first = [str(own.relative_to(ROOT))] if own.exists() else []
    folders = ["tests/metrics", "tests/engine"] if room == "metrics" else ["tests/engine"]
    paths = [path for folder in folders for path in ROOT.glob(f"{folder}/test_*.py")]
    others = sorted(str(path.relative_to(ROOT)) for path in paths)
    # The long ones last.
    others.sort(key=lambda path: "properties" in path or "against" in path)
    return list(dict.fromkeys([*first, *others]))


def start(mutant: Mutant) -> int:
    """Fork the tests on a mutant; returns the process id. Its exit status is pytest's."""
    pid = os.fork()
    if pid:
        return pid
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        sys.meta_path.insert(0, Planted(mutant))
        likeliest, *others = tests_of(mutant.file)
        # Most mutants die in their own file's tests: the others need not even be imported.
        for paths in filter(None, ([likeliest], others)):
            arguments = ["-x", "-q", "-p", "no:cacheprovider", *paths]
            if code := int(pytest.main(arguments, plugins=[Quickly()])):
                os._exit(code)
        os._exit(0)
    finally:
        os._exit(70)


def run(file: str, known: dict[str, str], given: argparse.Namespace) -> None:
    """Judge the mutants of a file that are not known yet, several at a time."""
    assert "specdemo" not in sys.modules, "each fork imports its own"
    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", HF_HUB_OFFLINE="1")
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    torch.set_num_threads(1)
    # In an order by chance, but the same each time: whatever has been judged is a fair sample.
    found = sorted(mutants(file), key=lambda mutant: sha256(mutant.key.encode()).digest())
    keys = {mutant.key for mutant in found}
    for gone in [key for key in known if key.startswith(f"{file} ") and key not in keys]:
        del known[gone]
    save(known)
    wanted = {None, "survived"} if given.again else {None}
    sample = found[: math.ceil(given.share * len(found))]
    pending = [mutant for mutant in sample if known.get(mutant.key) in wanted]
    print(f"{file}: {len(found)} mutants, {len(pending)} to judge", flush=True)
    running: dict[int, Mutant] = {}
    while pending or running:
        while pending and len(running) < given.workers:
            mutant = pending.pop(0)
            running[start(mutant)] = mutant
        pid, status = os.wait()
        mutant = running.pop(pid)
        known[mutant.key] = verdict(status)
        if known[mutant.key] == "survived":
            print(f"  survived: {mutant.key}", flush=True)
        save(known)


def verdict(status: int) -> str:
    """What an exit status says of a mutant."""
    if os.WIFSIGNALED(status):
        return "too long"
    code = os.WEXITSTATUS(status)
    assert code != 5, "no test was found"
    return "survived" if code == 0 else "killed"


def save(known: dict[str, str]) -> None:
    """Whole or not at all: a run may be killed at any time."""
    fresh = RESULTS.with_suffix(".new")
    fresh.write_text(json.dumps(dict(sorted(known.items())), indent=0, ensure_ascii=False) + "\n")
    fresh.replace(RESULTS)


def report(known: dict[str, str]) -> None:
    """The score of each file and of all."""
    for file in [*FILES, ""]:
        counts = Counter(state for key, state in known.items() if key.startswith(file))
        total = sum(counts.values())
        if total:
            caught = total - counts["survived"]
            print(f"{file or 'all'}: {caught} of {total} caught, {caught / total:.1%}")


def main() -> None:
    """One process for each file: of this package none may hold more than a fork imported."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="*")
    options.add_argument("--again", action="store_true")
    options.add_argument("--report", action="store_true")
    options.add_argument("--share", type=float, default=1.0)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    match given.files:
        case [file] if (file == COMPILED) == bool(numba.config.DISABLE_JIT):
            run(file, read(), given)
        case files if not given.report:
            for file in files or FILES:
                flags = [flag for flag in sys.argv[1:] if flag not in given.files]
                plain = {"NUMBA_DISABLE_JIT": str(int(file == COMPILED))}
                command = [sys.executable, __file__, file, *flags]
                subprocess.run(command, check=True, env={**os.environ, **plain})
    report(read())


def read() -> dict[str, str]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


if __name__ == "__main__":
    main()
