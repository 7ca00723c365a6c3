CREATE TABLE history (
    period INTEGER NOT NULL,
    queue  TEXT NOT NULL,
    at     INTEGER NOT NULL,
    data   BLOB NOT NULL,
    PRIMARY KEY (period, queue, at)
) STRICT, WITHOUT ROWID;

-- Forgetting goes by age over all queues.
CREATE INDEX history_age ON history (period, at);
