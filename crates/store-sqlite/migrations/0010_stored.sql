-- The bytes of a tenant's jobs: bodies, results, errors and records of replays. Each batch adds what it writes and subtracts
-- what it removes. A missing table is created and counted once, at the start of a server.
CREATE TABLE stored (
    tenant TEXT PRIMARY KEY,
    bytes  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
