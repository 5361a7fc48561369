"""Credentials in texts: URLs, connection strings, headers, SQL, command lines, and tokens known by their shape.

Each expression begins at a place that a run of characters has once only, so that the time grows with the text's length.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

MASK: Final = "***"
_HINTS: Final = ("pass", "pwd", "secret", "token", "credential", "signature", "key", "auth", "sig=", "identified")
_ROUNDS: Final = 4
"""What one rule leaves may be what another looks for; the second round changes nothing, as a rule."""

_WORD: Final = re.compile(r"[a-z0-9_.]{0,19}")
"""Too short, and with nothing in it that could divide a name from a secret: most of what an event consists of."""

# --- shapes -----------------------------------------------------------------------------------------------------------

_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)", re.DOTALL
)
_SHAPE: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_\-]{12,}|xox[a-z]-[A-Za-z0-9\-]{8,}"
    r"|A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])|AIza[A-Za-z0-9_\-]{30,}"
    r"|sk-(?:[A-Za-z0-9]{1,10}-){0,3}[A-Za-z0-9_]{16,}[A-Za-z0-9_\-]*|[rs]k_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|llg_[A-Za-z0-9_\-]{16,}|dapi[0-9a-f]{32}(?:-\d+)?)"
    r"|(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{6,}\.[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)*+"
)
"""GitHub, GitLab, Slack, AWS, Google, OpenAI and Anthropic, Stripe, our own, Databricks; and JSON Web Tokens"""

# --- URLs -------------------------------------------------------------------------------------------------------------

_RUN: Final = re.compile(r"[^\s\"']*")
_BEYOND: Final = re.compile(r"(?:[^\n\"'@]|'(?=\w)){0,200}@(?:[^\s\"'/@]*@)*")
_BEYOND_ALL: Final = re.compile(r"[^\n@]{0,200}@(?:[^\s/@]*@)*")
_LONGEST_SCHEME: Final = 80
_ONLY_SCHEME: Final = re.compile(r"\s*[A-Za-z][\w+.\-:]{0,60}")
_PORT: Final = re.compile(r"\d{1,5}(?=[/?#\s]|$)")
_USER: Final = re.compile(r"[^\s/?#@\"':]*:")
_PARAMETER: Final = re.compile(r"[\w.%\-\[\]]+=")
_ORACLE: Final = re.compile(r"(?i)(?P<start>jdbc:oracle:\w{1,10}:[^\s/@\"']{1,128}/)[^\s@\"']{1,256}@")
_BARE: Final = re.compile(r"(?s)\A(?P<start>[^\s/?#@:]*:).*@")

# --- names with a value ----------------------------------------------------------------------------------------------

_NAMES: Final = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|signature"
    r"|(?:api|access|private|account|secret|master|encryption|signing)[_.\- ]?key)"
)
_QUOTED: Final = (
    r"(?:'(?:[^'\\]|''|\\.)*+(?:'|\\?\Z)|\"(?:[^\"\\]|\"\"|\\.)*+(?:\"|\\?\Z)"
    r"|\\\"(?:[^\\\"]|\\[^\"])*+(?:\\?\"|\\?\Z)|\{[^{}\n]*\})"
)
_ASSIGNED: Final = re.compile(
    rf"(?is)(?P<key>(?<![\w.\-])[\w.\-]*(?:{_NAMES}|(?<![\w.\-])auth|account\.key\.[\w.\-]{{1,100}})"
    r"|[?&;](?:sig|auth))"
    rf"(?P<to>[\"'\]]{{0,2}}\s{{0,20}}(?:==?>?|:=)\s{{0,20}})"
    rf"(?P<value>{_QUOTED}|(?!\(\s{{0,9}}\w{{1,40}}\s{{0,9}}=)[^\s&;,'\"]+(?:,(?![\w.\-]{{1,100}}=)[^\s&;,'\"]+)*)"
)
_TOLD: Final = re.compile(
    rf"(?is)(?P<key>(?<![\w.\-])[\w.\-]*{_NAMES})(?P<to>\\?[\"']?\s{{0,20}}:(?!:)(?P<space>\s{{0,20}}))"
    rf"(?P<value>{_QUOTED}|(?!//)[^\s&;,'\"{{}}\[\]][^\s&;,'\"{{}}]*)"
)
_REFERENCE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\?|\$\d+|%s|[:@][A-Za-z_]\w*")
"""After ``token = ``, in SQL: a column or a placeholder."""
_NO_SECRETS: Final = frozenset(("none", "null", "true", "false", "''", '""'))
_TYPES: Final = frozenset(("str", "bytes", "int", "bool", "string", "varchar", "text", "optional", "required"))
_OPTION: Final = re.compile(rf"(?i)--?[\w.\-]*{_NAMES}")
_ARGUMENT: Final = re.compile(
    rf"(?is)(?P<start>(?<![\w.\-])--?[\w.\-]*{_NAMES}\s{{1,20}})(?![-*])"
    r"(?!(?:is|are|was|must|needs?|or|and|cannot|can|to|for|with|without|the|a|of|in|takes?|wants?|goes)\b)"
    rf"(?:{_QUOTED}|[^\s'\"]+)"
)
_CLIENT: Final = re.compile(
    r"(?i)(?P<start>\b(?:mysql\w{0,20}|mariadb[\w\-]{0,20})\b[^\n]{0,200}?\s-p|\bsshpass\s+-p\s*)"
    rf"(?!\*\*\*)(?:{_QUOTED}|[^\s'\"]+)"
)
_CURL: Final = re.compile(
    r"(?i)(?P<start>\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[\s=]{0,5}['\"]?[^\s:'\"]{1,100}:)[^\s'\"]+"
)

# --- SQL and headers --------------------------------------------------------------------------------------------------

_SQL: Final = re.compile(
    r"(?is)(?P<start>\b(?:pass(?:word|wd)|identified\s{1,20}(?:with\s{1,20}\S{1,60}\s{1,20})?by(?:\s{1,20}(?:password|values))?"
    r"|secret_access_key|access_key_id|session_token|secret_key|(?-i:SECRET)|master_symmetric_key)\s{1,20}|\bpassword\s?\()"
    r"(?:(?:e|n|u&)?(?P<literal>'(?:[^'\\]|''|\\.)*+(?:'|\\?\Z))|\$\$.*?(?:\$\$|\Z))"
)
_SQL_BARE: Final = re.compile(
    r"(?is)(?P<start>\bidentified\s+by\s+)(?!\*|password\b|values\b|externally\b|globally\b)(?:\"[^\"]*(?:\"|\Z)|[^\s;'\"]+)"
)
_CREDENTIALS: Final = re.compile(r"(?is)\bcredentials?\s{0,20}=?\s{0,20}\([^()]{1,2000}")
_LITERAL: Final = re.compile(r"'(?:[^'\\]|''|\\.)*+(?:'|\\?\Z)", re.DOTALL)
_HEADER: Final = re.compile(
    r"(?i)(?P<start>\bauthori[sz]ation\\?[\"']?\s{0,20}[:=]\s{0,20}\\?[\"']?"
    r"(?:(?:basic|bearer|token|negotiate|digest)\s{1,20}+(?=\S)|(?=[A-Za-z0-9._~+/\-]{6}))(?!(?:basic|bearer|token)\s))"
    r"[^\s\"'\\,;]+"
)
_SCHEME: Final = re.compile(r"(?P<start>\b(?i:bearer|basic)\s{1,20})(?P<value>[A-Za-z0-9._~+/\-]{6,}+=*+)(?!\w)")
_LIKE_TOKEN: Final = re.compile(r".*(?:\d|[a-z][A-Z])|.{16}")


def mask_text(text: str) -> str:
    """A text without credentials: ``***`` in their place. Never raises; masking twice changes nothing."""
    if _WORD.fullmatch(text):
        return text
    for _ in range(_ROUNDS):
        masked = _mask_once(text)
        if masked == text:
            break
        text = masked
    return text


def mask_url(url: str) -> str:
    """As mask_text, for what should be a URL: all of its password, up to the last ``@`` before options."""
    start, separator, rest = url.partition("://")
    if not separator:
        return mask_text(_BARE.sub(rf"\g<start>{MASK}@", url))
    if _USER.match(rest) and "@" in rest.partition("?")[0]:
        rest = _without_password(rest)
    return mask_text(f"{start}://{rest}")


def is_secret_option(argument: str) -> bool:
    """Whether what follows this argument of a command line is a secret, as after ``--password``."""
    return _OPTION.fullmatch(argument) is not None


def _mask_once(text: str) -> str:
    if "-----BEGIN" in text:
        text = _PRIVATE_KEY.sub(MASK, text)
    text = _SHAPE.sub(MASK, text)
    if "@" in text:
        text = _mask_urls(text)
    low = text.lower()
    if any(hint in low for hint in _HINTS):
        text = _mask_named(text, low)
    if "mysql" in low or "mariadb" in low or "sshpass" in low:
        text = _CLIENT.sub(rf"\g<start>{MASK}", text)
    if "curl" in low:
        text = _CURL.sub(rf"\g<start>{MASK}", text)
    if "bearer" in low or "basic" in low:
        text = _SCHEME.sub(_token_masked, text)
    return text


def _mask_named(text: str, low: str) -> str:
    """What a word such as ``password`` announces."""
    if "=" in text:
        text = _ASSIGNED.sub(_value_masked, text)
    if ":" in text:
        text = _TOLD.sub(_value_told, text)
    if "-" in text:
        text = _ARGUMENT.sub(rf"\g<start>{MASK}", text)
    if "'" in text or "$$" in text:
        text = _SQL.sub(rf"\g<start>'{MASK}'", text)
    if "identified" in low:
        text = _SQL_BARE.sub(rf"\g<start>{MASK}", text)
    if "credential" in low:
        text = _CREDENTIALS.sub(lambda match: _LITERAL.sub(_literal, match[0]), text)
    if "authori" in low:
        text = _HEADER.sub(rf"\g<start>{MASK}", text)
    return text


def _mask_urls(text: str) -> str:
    if "://" in text:
        text = _urls_masked(text)
    return _ORACLE.sub(rf"\g<start>{MASK}@", text) if "racle" in text else text


def _urls_masked(text: str) -> str:
    parts: list[str] = []
    done, found = 0, text.find("://")
    while found >= 0:
        start, following = found + 3, text.find("://", found + 3)
        run = _RUN.match(text, start, following if following >= 0 else len(text))
        end = run.end() if run else start
        user = _USER.match(text, start, end)
        if user and not _PORT.match(text, user.end()):
            if text.find("@", user.end(), end) < 0:
                is_first = found < _LONGEST_SCHEME and _ONLY_SCHEME.fullmatch(text, 0, found) is not None
                further = (_BEYOND_ALL if is_first else _BEYOND).match(text, user.end())
                end = further.end() if further else end
            parts += (text[done:start], _without_password(text[start:end]))
            done = end
        found = following if following >= end or following < 0 else text.find("://", end)
    return "".join(parts) + text[done:]


def _without_password(rest: str) -> str:
    """``user:***@host/…`` of ``user:password@host/…``."""
    user, _, more = rest.partition(":")
    if "@" not in more:
        return rest
    head, mark, options = more.partition("?")
    if "@" in head and ("@" not in options or _PARAMETER.match(options)):
        return f"{user}:{MASK}@{head.rpartition('@')[2]}{mark}{options}"
    return f"{user}:{MASK}@{more.rpartition('@')[2]}"


def _value_masked(match: re.Match[str]) -> str:
    value = match["value"]
    if value.lower() in _NO_SECRETS or (match["to"][:1].isspace() and _REFERENCE.fullmatch(value)):
        return match[0]
    if match["key"].upper().endswith("PWD") and value.startswith("/"):  # the working directory
        return match[0]
    shown = MASK if value.startswith("'") else _hidden(value)
    return f"{match['key']}{match['to']}{shown}"


def _value_told(match: re.Match[str]) -> str:
    """``"password": "…"`` and ``password: …``; ``token:orders`` is rather a name."""
    is_quoted = match["value"][:1] in ("'", '"', "\\", "{")
    if match["value"].strip("()").lower() in _NO_SECRETS | _TYPES:
        return match[0]
    if not is_quoted and not match["space"] and not match["key"].lower().endswith(("password", "passwd", "pwd")):
        return match[0]
    return f"{match['key']}{match['to']}{_hidden(match['value'])}"


def _hidden(value: str) -> str:
    """The mask in the value's quotes, so that JSON and programs in texts stay well-formed."""
    quote = '\\"' if value.startswith('\\"') else value[0] if value[0] in "'\"" else ""
    return f"{quote}{MASK}{quote}"


def _literal(_: re.Match[str]) -> str:
    return f"'{MASK}'"


def _token_masked(match: re.Match[str]) -> str:
    value = match["value"]
    if match["start"][:2].lower() == "be":
        return f"{match['start']}{MASK}" if _LIKE_TOKEN.match(value) else match[0]
    try:  # a user and a password in base64
        is_pair = b":" in base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        is_pair = False
    return f"{match['start']}{MASK}" if is_pair else match[0]
