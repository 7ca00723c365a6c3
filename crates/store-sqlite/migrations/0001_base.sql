-- Laid out so that nearly every write is an append or touches a narrow row near its neighbours.

CREATE TABLE meta (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    number   INTEGER NOT NULL,
    now      INTEGER NOT NULL,
    next_seq INTEGER NOT NULL
) STRICT;

INSERT INTO meta (one, number, now, next_seq) VALUES (1, 0, 0, 0);

-- Written once. The body comes last, so that a long one does not stand before the short columns.
CREATE TABLE jobs (
    seq     INTEGER PRIMARY KEY,
    id      BLOB NOT NULL UNIQUE,
    class   INTEGER NOT NULL,
    created INTEGER NOT NULL,
    body    BLOB NOT NULL
) STRICT;

CREATE TABLE live (
    seq         INTEGER PRIMARY KEY,
    class       INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    enqueued    INTEGER NOT NULL,
    due         INTEGER,
    started     INTEGER,
    expires     INTEGER,
    worker      TEXT,
    reserved_ms INTEGER NOT NULL,
    held        INTEGER NOT NULL
) STRICT;

-- Only the states that few jobs are in (scheduled, pending, retryable), so that a job which is
-- enqueued, claimed and acknowledged never touches it. The index ends in seq by itself. Not
-- IN (0, 2, 5), for which SQLite would build a temporary table at every write.
CREATE INDEX live_rare ON live (state) WHERE state = 0 OR state = 2 OR state = 5;

CREATE TABLE done (
    seq      INTEGER PRIMARY KEY,
    class    INTEGER NOT NULL,
    ending   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    enqueued INTEGER NOT NULL,
    started  INTEGER,
    expires  INTEGER,
    purge_at INTEGER,
    result   BLOB
) STRICT;

-- All endings but completed.
CREATE INDEX done_rare ON done (ending) WHERE ending <> 0;
CREATE INDEX done_purge ON done (purge_at) WHERE purge_at IS NOT NULL;

CREATE TABLE errors (
    seq     INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    json    BLOB NOT NULL,
    PRIMARY KEY (seq, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE classes (
    id   INTEGER PRIMARY KEY,
    json TEXT NOT NULL
) STRICT;

-- Apart from the classes, whose rows are wide: a commit may change the counts of very many.
CREATE TABLE counts (
    class       INTEGER PRIMARY KEY,
    completed   INTEGER NOT NULL,
    cancelled   INTEGER NOT NULL,
    dead_letter INTEGER NOT NULL,
    discarded   INTEGER NOT NULL,
    expired     INTEGER NOT NULL
) STRICT;

CREATE TABLE named (
    kind INTEGER NOT NULL,
    name TEXT NOT NULL,
    json BLOB NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
