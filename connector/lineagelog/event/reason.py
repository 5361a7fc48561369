"""Why an event was refused."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why an event was refused: the codes of ol_dead_letter.reason and of the HTTP answers."""

    NOT_JSON = "not_json"
    NOT_UTF8 = "not_utf8"
    NOT_AN_EVENT = "not_an_event"
    NUMBER_OUT_OF_RANGE = "number_out_of_range"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"
    BAD_TIME = "bad_time"
    TOO_LONG = "too_long"
    SCHEMA = "schema"
    BAD_ENCODING = "bad_encoding"
    REFUSED_BY_DATABASE = "refused_by_database"
    INTERNAL_ERROR = "internal_error"
