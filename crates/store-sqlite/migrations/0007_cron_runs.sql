-- Unfinished runs of schedules are rows of their own (kind 10), instead of a list in the schedule's row that every run
-- wrote anew.
INSERT INTO named (kind, name, json)
    SELECT 10, CAST(run.value AS TEXT), CAST(json_quote(cron.name) AS BLOB)
    FROM named AS cron, json_each(CAST(cron.json AS TEXT), '$.runs') AS run
    WHERE cron.kind = 1;
UPDATE named SET json = CAST(json_remove(CAST(json AS TEXT), '$.runs') AS BLOB)
    WHERE kind = 1 AND json_type(CAST(json AS TEXT), '$.runs') IS NOT NULL;
