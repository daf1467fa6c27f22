-- Requests that clients may repeat (Idempotency-Key): what became of each, for as long as it is kept.
CREATE TABLE repeatable_request (
    -- Hash of who asked, for what, and with which key.
    id          TEXT   PRIMARY KEY,
    user_id     TEXT   NOT NULL,
    -- Hash of the whole request.
    fingerprint TEXT   NOT NULL,
    -- running, unknown or done.
    state       TEXT   NOT NULL,
    -- The attempt that runs, or ran last.
    attempt     TEXT   NOT NULL,
    began_at    INTEGER NOT NULL,
    -- When the attempt must have ended; of one whose outcome is not known, when v1 must have.
    ends_at     INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    -- The record the answer shows.
    record_id   TEXT,
    -- The answer, sealed; empty until there is one.
    answer      TEXT   NOT NULL,
    sealed_with TEXT   NOT NULL,
    size        INTEGER NOT NULL
);
CREATE INDEX repeatable_request_of_user ON repeatable_request (user_id, expires_at);
CREATE INDEX repeatable_request_by_expiry ON repeatable_request (expires_at);
