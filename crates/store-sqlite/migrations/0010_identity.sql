-- The audit log. Each hash is over the hash of the entry before and the entry's JSON.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    tenant TEXT,
    json   BLOB NOT NULL,
    hash   BLOB NOT NULL
) STRICT;

-- Each ends in number by itself.
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_tenant ON audit (tenant) WHERE tenant IS NOT NULL;
