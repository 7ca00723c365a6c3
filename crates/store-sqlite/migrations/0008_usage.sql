-- What tenants used, by the hour (0) and by the day (1).
CREATE TABLE usage (
    tenant    TEXT NOT NULL,
    per       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    enqueued  INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    started   INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    run_ms    INTEGER NOT NULL,
    discarded INTEGER NOT NULL,
    PRIMARY KEY (tenant, per, at)
) STRICT, WITHOUT ROWID;

-- Forgetting goes by age over all tenants.
CREATE INDEX usage_age ON usage (per, at);
