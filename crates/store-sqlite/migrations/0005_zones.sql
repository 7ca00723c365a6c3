-- Which classes have jobs where, so that a list of few jobs passes over very many others. The numbers of jobs are
-- divided into zones of 128; 64 zones are one of the next level, and so on. A zone has a row from when its last number
-- was given out until the jobs of 64 zones are gone. The classes are in ascending order, each as its distance from the one
-- before in groups of seven bits, the lowest first; NULL where they are too many, or not known.
CREATE TABLE zones (
    level   INTEGER NOT NULL,
    zone    INTEGER NOT NULL,
    classes BLOB,
    PRIMARY KEY (level, zone)
) STRICT, WITHOUT ROWID;
