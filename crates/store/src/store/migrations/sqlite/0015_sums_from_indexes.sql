-- What is kept of a person is summed up for each request with an Idempotency-Key, and the answers in the rows are long: with the
-- size in the index, it is read from there alone.
DROP INDEX repeatable_request_of_user;
CREATE INDEX repeatable_request_of_user ON repeatable_request (user_id, expires_at, size);

-- When a token was last given for a grant: the last entry of the grant in the index, however many tokens there were.
DROP INDEX oauth_token_of_grant;
CREATE INDEX oauth_token_of_grant ON oauth_token (grant_id, issued_at);
