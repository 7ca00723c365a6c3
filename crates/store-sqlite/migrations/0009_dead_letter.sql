-- The dead letter: which jobs are in it, in which tenant's and queue's part (shard), since when and why. Jobs are listed by
-- error, pruned by age within their shard, and replayed when they are due.
CREATE TABLE dead (
    seq       INTEGER PRIMARY KEY,
    class     INTEGER NOT NULL,
    shard     INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    error     TEXT NOT NULL,
    other     INTEGER NOT NULL,
    replay_at INTEGER
) STRICT;

-- How often jobs were replayed, as JSON.
CREATE TABLE replays (
    seq  INTEGER PRIMARY KEY,
    json BLOB NOT NULL
) STRICT;

-- A row for each tenant and queue with dead jobs (kind 12), and the number of jobs for each of their errors (kind 13).
CREATE TEMP TABLE dead_shards AS
    SELECT row_number() OVER (ORDER BY queue, tenant) - 1 AS shard, queue, tenant, oldest FROM (
        SELECT json ->> '$.queue' AS queue, json ->> '$.tenant' AS tenant, min(at) AS oldest
        FROM done JOIN classes ON id = done.class WHERE ending = 2 GROUP BY 1, 2
    );
INSERT INTO named (kind, name, json)
    SELECT 12, CAST(shard AS TEXT), CAST(json_object('queue', queue, 'tenant', tenant, 'oldest', oldest) AS BLOB)
    FROM dead_shards;
INSERT INTO dead (seq, class, shard, at, error, other)
    SELECT done.seq, done.class, shard, at, substr(coalesce((
        SELECT CAST(errors.json AS TEXT) ->> '$.type' FROM errors WHERE errors.seq = done.seq ORDER BY n DESC LIMIT 1
    ), 'Unknown'), 1, 200), 0
    FROM done JOIN classes ON id = done.class
    JOIN dead_shards ON queue = classes.json ->> '$.queue' AND tenant = classes.json ->> '$.tenant'
    WHERE ending = 2;
INSERT INTO named (kind, name, json)
    SELECT 13, shard || ':' || error, CAST(CAST(count(*) AS TEXT) AS BLOB) FROM dead GROUP BY shard, error;
DROP TABLE dead_shards;

-- Each ends in seq by itself.
CREATE INDEX dead_error ON dead (error);
CREATE INDEX dead_shard ON dead (shard, at);
CREATE INDEX dead_at ON dead (at);
CREATE INDEX dead_replay ON dead (replay_at) WHERE replay_at IS NOT NULL;

-- The dead letter has a retention of its own.
UPDATE done SET purge_at = NULL WHERE ending = 2;
