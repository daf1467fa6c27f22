-- The authorization server and gateway keys. Secrets (tokens, codes, keys, client secrets) are kept as SHA-256 in
-- hexadecimal only; v1 keys are sealed with a key that is not in the store. Times are microseconds since 1970 UTC;
-- lists are text separated by blanks, or JSON where elements may hold blanks.
CREATE TABLE oauth_client (
    id              TEXT   PRIMARY KEY,
    name            TEXT   NOT NULL,
    -- Empty for public clients.
    secret_hash     TEXT   NOT NULL,
    redirect_uris   TEXT   NOT NULL,
    -- What it may ask for; empty for everything.
    scopes          TEXT   NOT NULL,
    -- Registered by itself (RFC 7591), so nobody has looked at it.
    self_registered BIGINT NOT NULL CHECK (self_registered IN (0, 1)),
    created_at      BIGINT NOT NULL,
    deleted_at      BIGINT
);

-- What a person allowed a client, with the v1 key that acts for it. Everything that came of one consent
-- (codes, tokens) is one family and ends with it.
CREATE TABLE oauth_grant (
    id             TEXT   PRIMARY KEY,
    client_id      TEXT   NOT NULL REFERENCES oauth_client (id),
    user_id        TEXT   NOT NULL,
    scopes         TEXT   NOT NULL,
    -- Empty once revoked.
    sealed_key     TEXT   NOT NULL,
    -- Id of the secret that sealed it.
    sealed_with    TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    revoked_at     BIGINT,
    revoked_reason TEXT   NOT NULL
);
CREATE INDEX oauth_grant_of_user ON oauth_grant (user_id) WHERE revoked_at IS NULL;
CREATE INDEX oauth_grant_of_client ON oauth_grant (client_id) WHERE revoked_at IS NULL;

CREATE TABLE oauth_code (
    hash         TEXT   PRIMARY KEY,
    grant_id     TEXT   NOT NULL REFERENCES oauth_grant (id),
    redirect_uri TEXT   NOT NULL,
    -- PKCE (S256); empty when the client sent none.
    challenge    TEXT   NOT NULL,
    expires_at   BIGINT NOT NULL,
    used_at      BIGINT
);
CREATE INDEX oauth_code_of_grant ON oauth_code (grant_id);

CREATE TABLE oauth_token (
    hash       TEXT   PRIMARY KEY,
    grant_id   TEXT   NOT NULL REFERENCES oauth_grant (id),
    kind       TEXT   NOT NULL CHECK (kind IN ('access', 'refresh')),
    scopes     TEXT   NOT NULL,
    -- Hash of the code or refresh token it was given for.
    parent     TEXT   NOT NULL,
    issued_at  BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- When a refresh token was exchanged for its successor.
    used_at    BIGINT,
    revoked_at BIGINT
);
CREATE INDEX oauth_token_of_grant ON oauth_token (grant_id);
CREATE INDEX oauth_token_of_parent ON oauth_token (parent);
CREATE INDEX oauth_token_by_expiry ON oauth_token (expires_at);

-- Keys of the gateway's own, narrower than the v1 key behind them.
CREATE TABLE gateway_key (
    id             TEXT   PRIMARY KEY,
    hash           TEXT   NOT NULL UNIQUE,
    title          TEXT   NOT NULL,
    user_id        TEXT   NOT NULL,
    user_name      TEXT   NOT NULL,
    scopes         TEXT   NOT NULL,
    -- The only workspace it opens: its id and what it was called; empty for all.
    workspace_id   TEXT   NOT NULL,
    workspace_slug TEXT   NOT NULL,
    sealed_key     TEXT   NOT NULL,
    sealed_with    TEXT   NOT NULL,
    created_at     BIGINT NOT NULL,
    -- The greatest number for never.
    expires_at     BIGINT NOT NULL,
    revoked_at     BIGINT
);
CREATE INDEX gateway_key_of_user ON gateway_key (user_id) WHERE revoked_at IS NULL;
