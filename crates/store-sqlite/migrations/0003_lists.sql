-- Two indexes that every job paid for are gone.

-- An id that Rota made holds the job's number, sealed with this key: only ids that clients chose need an index.
ALTER TABLE meta ADD COLUMN id_key INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET id_key = random();

CREATE TABLE jobs_anew (
    seq     INTEGER PRIMARY KEY,
    id      BLOB NOT NULL,
    given   INTEGER NOT NULL,
    class   INTEGER NOT NULL,
    created INTEGER NOT NULL,
    body    BLOB NOT NULL
) STRICT;

-- The ids of older jobs hold nothing. Their bodies began with the version and the id, which are not repeated any more.
INSERT INTO jobs_anew (seq, id, given, class, created, body)
SELECT seq, id, 1, class, created,
    CASE WHEN substr(body, 1, 26) = CAST('"specversion":"1.0","id":"' AS BLOB) THEN substr(body, 65) ELSE body END
FROM jobs;
UPDATE named SET json = CAST(json_set(CAST(json AS TEXT), '$.body', substr(CAST(json AS TEXT) ->> '$.body', 65)) AS BLOB)
WHERE kind = 1 AND CAST(json AS TEXT) ->> '$.body' GLOB '"specversion":"1.0","id":"*';
DROP TABLE jobs;
ALTER TABLE jobs_anew RENAME TO jobs;
CREATE UNIQUE INDEX jobs_given ON jobs (id) WHERE given = 1;

-- Which jobs retention may remove, and when: a row for each moment instead of an index entry for each job. The numbers
-- are separated by commas. A job may be gone or living again by then; its own row in `done` has the last word.
CREATE TABLE purge (
    at   INTEGER PRIMARY KEY,
    seqs TEXT NOT NULL
) STRICT;

INSERT INTO purge (at, seqs) SELECT purge_at, group_concat(seq) FROM done WHERE purge_at IS NOT NULL GROUP BY purge_at;
DROP INDEX done_purge;
