"""SnapLogic expressions as trees: an operator-precedence parser that stops at a bounded depth."""

from __future__ import annotations

from dataclasses import dataclass

from .tokens import ExpressionError, ExpressionToken, TokenKind, tokenize

MAX_DEPTH = 100
"""How deep brackets, operators of rising precedence and templates may nest; deeper text is refused, not
followed."""

_BINARY = {
    "??": 1,
    "||": 2,
    "&&": 3,
    "|": 4,
    "^": 5,
    "&": 6,
    "==": 7,
    "!=": 7,
    "===": 7,
    "!==": 7,
    "<": 8,
    ">": 8,
    "<=": 8,
    ">=": 8,
    "instanceof": 8,
    "in": 8,
    "<<": 9,
    ">>": 9,
    ">>>": 9,
    "+": 10,
    "-": 10,
    "*": 11,
    "/": 11,
    "%": 11,
    "**": 12,
}
_UNARY = frozenset({"!", "-", "+", "~", "typeof", "...", "void", "new"})
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "undefined": None}


@dataclass(frozen=True, slots=True)
class Tree:
    """A node: `kind` is literal, root, name, member, index, call, unary, binary, ternary, array, object,
    template, lambda, match.

    `value` is the literal's value, the name, the member's name or the operator; `children` are in source
    order.
    """

    kind: str
    value: str | float | bool | None = None
    children: tuple[Tree, ...] = ()


def parse(text: str, depth: int = 0) -> Tree:
    """The tree of an expression; ExpressionError says at which offset it stops being one."""
    tokens, error = tokenize(text)
    if error:
        raise error
    parser = _ExpressionParser(tokens, depth)
    tree = parser.expression()
    while parser.take(";"):
        pass
    if parser.token.kind is not TokenKind.END:
        raise parser.unexpected()
    return tree


class _ExpressionParser:
    def __init__(self, tokens: list[ExpressionToken], depth: int) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = depth

    @property
    def token(self) -> ExpressionToken:
        return self.tokens[self.at]

    def unexpected(self) -> ExpressionError:
        found = self.token.text or "the end"
        return ExpressionError(f"offset {self.token.at}: unexpected {found}")

    def next(self) -> ExpressionToken:
        token = self.token
        if token.kind is TokenKind.END:
            raise self.unexpected()
        self.at += 1
        return token

    def seen(self, *marks: str) -> bool:
        return self.token.kind is TokenKind.MARK and self.token.text in marks

    def take(self, mark: str) -> bool:
        found = self.seen(mark)
        self.at += found
        return found

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise self.unexpected()

    def expression(self) -> Tree:
        """An expression with everything that binds looser than an operator: lambda and `?:`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"offset {self.token.at}: nested deeper than {MAX_DEPTH}")
        tree = self._lambda() or self._ternary()
        self.depth -= 1
        return tree

    def _ternary(self) -> Tree:
        condition = self._operators(0)
        if not self.take("?"):
            return condition
        yes = self.expression()
        self.expect(":")
        return Tree("ternary", "?:", (condition, yes, self.expression()))

    def _operators(self, least: int) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"offset {self.token.at}: nested deeper than {MAX_DEPTH}")
        left = self._unary()
        while self.token.kind in (TokenKind.MARK, TokenKind.NAME) and _BINARY.get(self.token.text, 0) > least:
            operator = self.next().text
            left = Tree("binary", operator, (left, self._operators(_BINARY[operator])))
        self.depth -= 1
        return left

    def _unary(self) -> Tree:
        operators: list[str] = []
        while self.token.kind in (TokenKind.MARK, TokenKind.NAME) and self.token.text in _UNARY:
            operators.append(self.next().text)
        if len(operators) > MAX_DEPTH:
            raise ExpressionError(f"offset {self.token.at}: nested deeper than {MAX_DEPTH}")
        tree = self._postfix(self._primary())
        for operator in reversed(operators):
            tree = Tree("unary", operator, (tree,))
        return tree

    def _postfix(self, tree: Tree) -> Tree:
        while True:
            if self.take(".") or self.take("?."):
                if self.take("["):
                    tree = self._index(tree)
                elif self.take("*"):
                    continue
                else:
                    tree = Tree("member", self._member_name(), (tree,))
            elif self.take("["):
                tree = self._index(tree)
            elif self.take("("):
                tree = Tree("call", None, (tree, *self._list(")")))
            else:
                return tree

    def _member_name(self) -> str:
        """A name after a dot; `$` may stand in or before it, `.$x` and `.a$b` are names."""
        token = self.next()
        if token.kind is TokenKind.ROOT and self.token.kind is TokenKind.NAME and self.token.at == token.at + 1:
            return "$" + self.next().text
        if token.kind is not TokenKind.NAME:
            self.at -= 1
            raise self.unexpected()
        return token.text

    def _index(self, tree: Tree) -> Tree:
        if self.take("*"):
            self.expect("]")
            return Tree("index", None, (tree, Tree("literal", "*")))
        inner = self.expression()
        self.expect("]")
        return Tree("index", None, (tree, inner))

    def _primary(self) -> Tree:
        token = self.next()
        if token.kind is TokenKind.ROOT:
            return self._root(token)
        if token.kind is TokenKind.TEXT:
            return Tree("literal", token.text)
        if token.kind is TokenKind.NUMBER:
            return Tree("literal", _number(token.text))
        if token.kind is TokenKind.REGEX:
            return Tree("regex", token.text)
        if token.kind is TokenKind.TEMPLATE:
            return Tree("template", token.text, tuple(parse(part, self.depth) for part in token.parts))
        if token.kind is TokenKind.NAME:
            return self._name(token)
        return self._bracketed(token)

    def _root(self, token: ExpressionToken) -> Tree:
        root = Tree("root", "$")
        if self.token.kind is TokenKind.NAME and self.token.at == token.at + 1:
            return Tree("member", self.next().text, (root,))
        return root

    def _name(self, token: ExpressionToken) -> Tree:
        if token.text in _CONSTANTS:
            return Tree("literal", _CONSTANTS[token.text])
        starts_value = self.token.kind not in (TokenKind.MARK, TokenKind.END) or self.seen("{")
        if token.text == "match" and starts_value and self.token.text not in _BINARY:
            return self._match()
        return Tree("name", token.text)

    def _bracketed(self, token: ExpressionToken) -> Tree:
        if token.text == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if token.text == "[":
            return Tree("array", "[]", tuple(self._list("]")))
        if token.text == "{":
            return Tree("object", "{}", tuple(self._members()))
        self.at -= 1
        raise self.unexpected()

    def _list(self, close: str) -> list[Tree]:
        found: list[Tree] = []
        while not self.take(close):
            found.append(self.expression())
            if not self.seen(close):
                self.expect(",")
        return found

    def _members(self) -> list[Tree]:
        found: list[Tree] = []
        while not self.take("}"):
            found.append(self._member())
            if not self.seen("}"):
                self.expect(",")
        return found

    def _member(self) -> Tree:
        if self.seen("..."):
            return self.expression()
        if self.take("["):
            key = self.expression()
            self.expect("]")
            self.expect(":")
            return Tree("array", "[]", (key, self.expression()))
        key = Tree("literal", self._key())
        if not self.take(":"):
            return Tree("name", key.value)
        return Tree("property", key.value, (self.expression(),))

    def _key(self) -> str:
        token = self.next()
        if token.kind not in (TokenKind.NAME, TokenKind.TEXT, TokenKind.NUMBER):
            self.at -= 1
            raise self.unexpected()
        return token.text

    def _lambda(self) -> Tree | None:
        """`x => body` or `(a, b) => body`: decided by looking ahead for the arrow."""
        ahead = self.at
        if self.tokens[ahead].kind is TokenKind.NAME:
            ahead += 1
        elif self.seen("("):
            ahead = self._after_parameters(ahead + 1)
        else:
            return None
        arrow = self.tokens[ahead] if ahead < len(self.tokens) else None
        if arrow is None or arrow.kind is not TokenKind.MARK or arrow.text != "=>":
            return None
        self.at = ahead + 1
        return Tree("lambda", "=>", (self.expression(),))

    def _after_parameters(self, ahead: int) -> int:
        count = len(self.tokens)
        while ahead < count and (self.tokens[ahead].kind is TokenKind.NAME or self.tokens[ahead].text == ","):
            ahead += 1
        closes = ahead < count and self.tokens[ahead].text == ")"
        return ahead + 1 if closes else count

    def _match(self) -> Tree:
        """`match subject { pattern => result, ... }`, or `match { condition => result, ... }`."""
        children: list[Tree] = [] if self.seen("{") else [self._operators(0)]
        self.expect("{")
        while not self.take("}"):
            children.append(self.expression())
            if self.token.kind is TokenKind.NAME and self.token.text in ("if", "when"):
                self.next()
                children.append(self.expression())
            if self.take("=>"):
                children.append(self.expression())
            if not self.seen("}"):
                self.expect(",")
        return Tree("match", "match", tuple(children))


def _number(text: str) -> float:
    try:
        return float(int(text, 0)) if text[:2].lower() in ("0x", "0o", "0b") else float(text)
    except (ValueError, OverflowError):
        raise ExpressionError(f"{text} is no number") from None
