-- The pool that an active job was fetched for, so that a restart can count the pool's jobs without their workers. Jobs
-- that are active already have none.
ALTER TABLE live ADD COLUMN pool TEXT;
