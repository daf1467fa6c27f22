-- The grant or gateway key that a request came with, so that one app cannot use up the room of the others; nothing for the
-- v1 keys of the person, and for requests that older programs begin.
ALTER TABLE repeatable_request ADD COLUMN credential TEXT;
DROP INDEX repeatable_request_of_user;
CREATE INDEX repeatable_request_of_user ON repeatable_request (user_id, expires_at, credential, size);
