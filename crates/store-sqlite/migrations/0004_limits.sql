-- What limits and quotas need to know of a job without reading its body.
ALTER TABLE live ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE live ADD COLUMN pauses INTEGER NOT NULL DEFAULT 0;
UPDATE live SET bytes = coalesce((SELECT length(body) FROM jobs WHERE jobs.seq = live.seq), 0);

-- What each batch did to counters that are kept apart from the jobs: appended, and trimmed from the front.
CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    data   BLOB NOT NULL
) STRICT;
