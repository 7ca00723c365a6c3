-- The database follows a log that begins behind batch `log_base`. It is NULL until that log exists: in a new
-- database, in one of an older format, and in a restored one, which begins a new term.
ALTER TABLE meta ADD COLUMN term INTEGER NOT NULL DEFAULT 1;
ALTER TABLE meta ADD COLUMN log_base INTEGER;
-- How many events there have been: they are numbered through all batches.
ALTER TABLE meta ADD COLUMN event_count INTEGER NOT NULL DEFAULT 0;
