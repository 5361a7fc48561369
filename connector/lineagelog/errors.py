"""Every error that lineagelog raises on purpose, under one base.

LineageLogError
├── SettingsError         a setting, option or name that cannot be used
├── StoreError            the log store cannot do what was asked
│   ├── StoreUnavailable  the database is away, silent or busy: try again later
│   ├── StoreReadOnly     the database refuses writes (standby, read-only role, disk full)
│   │   └── PartitionMissing  … for the events of a month only, because their partition is missing
│   ├── StoreNotCreated   the schema or its tables do not exist: run `lineagelog store init`
│   ├── StoreTooOld       the tables were made by an older lineagelog: run `lineagelog store init`
│   ├── StoreTooNew       the tables were made by a newer lineagelog
│   └── ClaimLost         another worker has claimed a Kafka partition: nothing of the batch was stored
├── KafkaError            Kafka cannot be consumed: no broker, no such topic, not allowed
├── IntakeFull            more events are waiting than the queue holds: try again later
├── TargetUnavailable     a target of forwarding does not take events now, for longer than was to be waited
├── TargetBusy            another process forwards to this target
├── AnalysisStopped       an analysis did not end within its time limit
├── InputError            a file or a document that cannot be read (names file and place)
├── SpoolError            the disk spool cannot be written or read
│   ├── SpoolFull         its limit in bytes is reached: nothing was kept
│   └── SpoolBusy         another process is draining it, or holds its lock for too long
├── EgeriaError           Egeria cannot be used through pyegeria
│   ├── EgeriaUnavailable  it is away, silent or fails: try again later
│   ├── EgeriaUnfit        it answers, but cannot be used so: credentials, certificate, an endpoint that is not there
│   └── EgeriaRefused      it says no to one call, with a message id and its advice
├── DaemonError           the JVM or the platform of an integration daemon cannot be started, or failed
└── EmbeddedError         the embedded PostgreSQL cannot be started
"""

from __future__ import annotations


class LineageLogError(Exception):
    """Base of all errors of lineagelog. Its text is one line for a person."""


class SettingsError(LineageLogError):
    """A setting, an option or a name cannot be used; the text names it and says what is valid."""


class StoreError(LineageLogError):
    """The log store cannot do what was asked.

    ``plain`` is what a stranger may be told: the reason without the driver's words, which name paths and addresses.
    """

    def __init__(self, message: str, *, plain: str | None = None) -> None:
        super().__init__(message)
        self.plain = message if plain is None else plain


class StoreUnavailable(StoreError):
    """The database cannot do it now: away, silent, busy; nothing of the batch was acknowledged, so send it again."""


class StoreReadOnly(StoreError):
    """The database refuses writes: a standby, a read-only role, or a full disk."""


class PartitionMissing(StoreReadOnly):
    """A month has no partition and this role may not make one; events of other months can be stored."""


class StoreNotCreated(StoreError):
    """The schema or one of its tables does not exist: run `lineagelog store init`."""


class StoreTooOld(StoreError):
    """The tables were made by an older lineagelog than this one: run `lineagelog store init` as their owner."""


class StoreTooNew(StoreError):
    """The tables were made by a newer lineagelog than this one."""


class ClaimLost(StoreError):
    """Another worker has claimed one of the batch's Kafka partitions, or moved its offset; nothing was stored."""


class KafkaError(LineageLogError):
    """Kafka cannot be consumed: brokers that cannot be reached, an unknown topic, no permission."""


class IntakeFull(LineageLogError):
    """More events are waiting than the queue holds; `retry_after` says in how many seconds to try again."""

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TargetUnavailable(LineageLogError):
    """A target does not take events: it cannot be reached, fails, or refuses us; the text says which and why."""


class TargetBusy(LineageLogError):
    """Another process forwards to this target: one at a time."""


class AnalysisStopped(LineageLogError):
    """An analysis did not end within its time limit; the text says which, and what to do."""


class InputError(LineageLogError):
    """A file or document cannot be read; the text names the file and the place in it."""


class SpoolError(LineageLogError):
    """The disk spool cannot be written or read; the text names the folder."""


class SpoolFull(SpoolError):
    """The spool's limit in bytes is reached; the record was not kept."""


class SpoolBusy(SpoolError):
    """Another process is draining the spool, or holds its lock for longer than this one may wait."""


class EmbeddedError(LineageLogError):
    """The embedded PostgreSQL cannot be installed or started; the text says what to do."""


class EgeriaError(LineageLogError):
    """Egeria cannot be used through pyegeria."""


class EgeriaUnavailable(EgeriaError):
    """Egeria failed, or is away: the same call may succeed later. ``is_away``: no call would succeed now."""

    def __init__(self, message: str, *, is_away: bool = True) -> None:
        super().__init__(message)
        self.is_away = is_away


class EgeriaUnfit(EgeriaError):
    """Egeria cannot be used as it is set up, whatever the call: ``subject`` is platform, TLS, token or pyegeria."""

    def __init__(self, message: str, *, subject: str = "pyegeria") -> None:
        super().__init__(message)
        self.subject = subject


class EgeriaRefused(EgeriaError):
    """Egeria says no to one call; again it would say the same. ``code`` as HTTP's, None where pyegeria refused."""

    def __init__(
        self, message: str, *, code: int | None = None, message_id: str | None = None, user_action: str | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message_id, self.user_action = code, message_id, user_action


class DaemonError(LineageLogError):
    """The JVM or the platform of an integration daemon cannot be started, or failed; the text says what is missing."""
