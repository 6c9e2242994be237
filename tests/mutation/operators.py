"""Mutation operators: the small faults that one source file can be given, found over its syntax tree.

A mutant replaces the text of one expression or statement by another; the rest of the file keeps its bytes, so line
numbers before it stay true. Docstrings, annotations, decorators, assertions, raised messages, TYPE_CHECKING blocks and
Protocol classes are left alone: nothing is decided there.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Replacement = tuple[str, ast.expr | ast.stmt, str]
"""Name of the operator, the node that goes, and the text that comes."""

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_MOVED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_OTHER_NAME = {"min": "max", "max": "min", "any": "all", "all": "any"}
_PASSED_THROUGH = frozenset({"sorted", "reversed", "set", "frozenset", "abs", "list", "tuple", "dict"})
# Methods whose result can be used like what they are called on.
_SAME_KIND = frozenset({"copy", "strip", "lower", "upper", "distinct", "lstrip", "rstrip", "values", "all"})
# A condition of SQL on a value that is handed over: the mutant takes any.
_SQL_CONDITION = re.compile(r"[\w.]+ (=|<|>|<=|>=|<>) %s(?!\()")
# Arguments that say something to people or to the schema alone.
_WORDS_ONLY = frozenset({"help_text", "description", "verbose_name", "label", "operation_id", "summary", "doc"})
# Calls made for what they write to logs.
_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "_log", "log"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: `old` at (line, column) of the file becomes `new`; columns count bytes, lines from 1."""

    path: str
    operator: str
    within: str  # qualified name of the function or class around it
    line: int
    column: int
    end_line: int
    end_column: int
    statement: tuple[int, int]  # first and last line of the statement it is in
    old: str
    new: str

    @property
    def name(self) -> str:
        """What tells it from all others and does not change when other lines of the file do."""
        return f"{self.path}::{self.within}::{self.operator}::{_one_line(self.old)} -> {_one_line(self.new)}"

    def applied_to(self, source: str) -> str:
        """The file with the fault in it."""
        lines = source.encode().splitlines(keepends=True)
        first, last = self.line - 1, self.end_line - 1
        changed = lines[first][: self.column] + self.new.encode() + lines[last][self.end_column :]
        return b"".join([*lines[:first], changed, *lines[last + 1 :]]).decode()

    def compiles(self, source: str) -> bool:
        """Whether the file with the fault in it is still Python."""
        try:
            compile(self.applied_to(source), self.path, "exec")
        except (SyntaxError, ValueError):
            return False
        return True


def mutants(path: str, source: str) -> list[Mutant]:
    """All mutants of a file, in the order of the source; ask each `compiles` before it is used."""
    found = []
    lines = source.encode().splitlines(keepends=True)
    for (operator, node, text), within, statement in _Finder(source).found():
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None and end_column is not None
        old = _segment(lines, node)
        if _one_line(old) == _one_line(text):
            continue
        place = (node.lineno, node.col_offset, end_line, end_column)
        found.append(Mutant(path, operator, within, *place, statement, old, text))
    return sorted(found, key=lambda each: (each.line, each.column, each.operator, each.new))


class _Finder:
    """Goes over a module and remembers where it is."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.encode().splitlines(keepends=True)

    def found(self) -> Iterator[tuple[Replacement, str, tuple[int, int]]]:
        yield from self._body(ast.parse(self._source).body, "", None)

    def _body(
        self, body: list[ast.stmt], within: str, returns: ast.expr | None
    ) -> Iterator[tuple[Replacement, str, tuple[int, int]]]:
        for statement in body:
            yield from self._statement(statement, within, returns)

    def _statement(
        self, node: ast.stmt, within: str, returns: ast.expr | None
    ) -> Iterator[tuple[Replacement, str, tuple[int, int]]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{within}.{node.name}" if within else node.name
            if node.name == "__repr__":
                return
            for default in [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]:
                yield from self._expressions(default, inner, node)
            yield from self._body(node.body, inner, node.returns)
            return
        if isinstance(node, ast.ClassDef):
            if any(isinstance(base, ast.Name) and base.id in ("Protocol", "Meta") for base in node.bases):
                return
            if node.name == "Meta":
                return
            yield from self._body(node.body, f"{within}.{node.name}" if within else node.name, None)
            return
        if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        span = (node.lineno, node.end_lineno or node.lineno)
        for replacement in _of_statement(node, returns):
            yield replacement, within, span
        for field in ast.iter_child_nodes(node):
            if isinstance(field, ast.stmt | ast.excepthandler | ast.match_case):
                continue
            if isinstance(node, ast.AnnAssign) and field is node.annotation:
                continue
            if isinstance(node, ast.Raise):
                continue
            yield from self._expressions(field, within, node)
        for name in ("body", "orelse", "finalbody"):
            yield from self._body(getattr(node, name, []), within, returns)
        for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from self._body(handler.body, within, returns)

    def _expressions(
        self, node: ast.AST, within: str, statement: ast.stmt
    ) -> Iterator[tuple[Replacement, str, tuple[int, int]]]:
        # Of a compound statement only its head: its body has statements of its own.
        is_compound = hasattr(statement, "body")
        last = getattr(node, "end_lineno", None) if is_compound else statement.end_lineno
        span = (statement.lineno, last or statement.lineno)
        for child in _expressions_in(node):
            for replacement in (*_of_expression(child), *_of_sql(child, self._lines)):
                yield replacement, within, span


def _expressions_in(node: ast.AST) -> Iterator[ast.expr]:
    """The expression and all within; not within f-strings, and not the arguments of logging."""
    if isinstance(node, ast.JoinedStr):
        yield node
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOGGING:
        return
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _expressions_in(child)


def _of_statement(node: ast.stmt, returns: ast.expr | None) -> Iterator[Replacement]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Await()):
            if not _logs(node.value):
                yield "drop statement", node, "pass"
        case ast.AugAssign():
            yield "drop statement", node, "pass"
            other = _ARITHMETIC.get(type(node.op))
            if other is not None:
                changed = copy.deepcopy(node)
                changed.op = other()
                yield "arithmetic", node, ast.unparse(changed)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete() | ast.Raise():
            yield "drop statement", node, "pass"
        case ast.Continue():
            yield "loop", node, "break"
            yield "drop statement", node, "pass"
        case ast.Break():
            yield "loop", node, "continue"
        case ast.Return(value=ast.expr() as value):
            yield from _of_return(node, value, returns)
        case ast.Return():
            yield "drop statement", node, "pass"
        case ast.If():
            yield "condition", node.test, "True"
            yield "condition", node.test, "False"
        case _:
            pass


def _of_return(node: ast.Return, value: ast.expr, returns: ast.expr | None) -> Iterator[Replacement]:
    kind = ast.unparse(returns) if returns is not None else ""
    if kind == "bool":
        yield "return", node, f"return not ({ast.unparse(value)})"
    elif kind == "int":
        yield "return", node, f"return ({ast.unparse(value)}) + 1"
    elif not (isinstance(value, ast.Constant) and value.value is None):
        yield "return", node, "return None"


def _of_expression(node: ast.expr) -> Iterator[Replacement]:
    for operator, changed in _changed(node):
        yield operator, node, f"({ast.unparse(changed)})"


def _of_sql(node: ast.expr, lines: list[bytes]) -> Iterator[Replacement]:
    """In the text as it stands in the source, which may be several literals in a row."""
    is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    if not is_text or "WHERE" not in (text := _segment(lines, node)):
        return
    for match in _SQL_CONDITION.finditer(text, text.index("WHERE")):
        before = text[: match.start()]
        line = node.lineno + before.count("\n")
        column = len(before.rpartition("\n")[2].encode()) + (node.col_offset if line == node.lineno else 0)
        end = column + len(match[0].encode())
        place = ast.Constant(match[0], lineno=line, col_offset=column, end_lineno=line, end_col_offset=end)
        yield "sql", place, "%s IS NOT NULL"
        if match[1] in ("<", ">"):
            yield "sql", place, match[0].replace(match[1], match[1] + "=")


def _changed(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare(ops=[op]):
            for operator, table in (("comparison", _NEGATED), ("boundary", _MOVED)):
                to = table.get(type(op))
                if to is not None:
                    yield operator, _with(node, lambda each, to=to: setattr(each, "ops", [to()]))
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "boolean", _with(node, lambda each: setattr(each, "op", other))
            for index in range(len(node.values)):
                yield "boolean", _with(node, lambda each, at=index: each.values.pop(at))
        case ast.UnaryOp(op=ast.Not()):
            yield "boolean", node.operand
        case ast.UnaryOp(op=ast.USub()):
            yield "arithmetic", node.operand
        case ast.BinOp():
            arithmetic = _ARITHMETIC.get(type(node.op))
            if arithmetic is not None and not _is_text(node):
                yield "arithmetic", _with(node, lambda each: setattr(each, "op", arithmetic()))
        case ast.IfExp():
            yield "condition", node.body
            yield "condition", node.orelse
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield "constant", ast.Constant(number + 1)
            if number == 1:
                yield "constant", ast.Constant(0)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            for index, generator in enumerate(node.generators):
                if generator.ifs:
                    yield "filter", _with(node, lambda each, at=index: each.generators[at].ifs.clear())
        case ast.Call():
            yield from _changed_call(node)
        case _:
            pass


def _changed_call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    starred = any(isinstance(each, ast.Starred) for each in node.args)
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is not None and keyword.arg not in _WORDS_ONLY:
            yield "drop argument", _with(node, lambda each, at=index: each.keywords.pop(at))
    if len(node.args) >= 2 and not starred:
        for index in range(len(node.args) - 1):
            if ast.dump(node.args[index]) != ast.dump(node.args[index + 1]):
                yield "swap arguments", _with(node, lambda each, at=index: _swap(each.args, at))
    if isinstance(node.func, ast.Name):
        other = _OTHER_NAME.get(node.func.id)
        if other is not None:
            yield "other function", _with(node, lambda each: setattr(each, "func", ast.Name(other)))
        if node.func.id in ("min", "max") and len(node.args) == 2 and not starred:
            yield "drop call", node.args[0]
            yield "drop call", node.args[1]
        if node.func.id in _PASSED_THROUGH and len(node.args) == 1 and not starred:
            yield "drop call", node.args[0]
    if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_KIND and not node.args:
        yield "drop call", node.func.value


def _with(node: ast.expr, change: Callable[..., object]) -> ast.expr:
    changed = copy.deepcopy(node)
    change(changed)
    return changed


def _swap(items: list[ast.expr], at: int) -> None:
    items[at], items[at + 1] = items[at + 1], items[at]


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _logs(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOGGING


def _segment(lines: list[bytes], node: ast.expr | ast.stmt) -> str:
    """The node's text; ast.get_source_segment splits the whole file each time."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    part = lines[first : last + 1]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0][node.col_offset :]
    return b"".join(part).decode()


def _one_line(text: str) -> str:
    return " ".join(text.split())
