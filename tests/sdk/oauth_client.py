"""OAuth through clients that know nothing of this gateway: Authlib, and the SDK's own OAuth client.

Usage: python oauth_client.py PATH-TO-CAUSEWAY. Starts the sandbox and a gateway with a store of its own, registers
apps by command, and walks through consent, exchange, refresh and revocation with each. The test plays only the person
with the browser. Ends with `N passed, M failed`; exit code 1 when anything failed.
"""

import html
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # plain HTTP to this machine

import requests  # noqa: E402
from authlib.common.security import generate_token  # noqa: E402
from authlib.integrations.base_client.errors import OAuthError  # noqa: E402
from authlib.integrations.requests_client import OAuth2Session  # noqa: E402
from demo import Running, free_address  # noqa: E402
from plane import PlaneClient  # noqa: E402
from plane.client.oauth_client import OAuthClient  # noqa: E402
from plane.errors import HttpError  # noqa: E402

KEY = "demo-admin-key"
REDIRECT = "http://127.0.0.1:8765/callback"
passed = 0
failures = []


def holds(what, condition):
    """One check."""
    global passed
    if condition:
        passed += 1
    else:
        failures.append(what)


def raises(what, kind, call):
    """`call` raises `kind`."""
    try:
        call()
    except kind as error:
        holds(what, True)
        return error
    failures.append(f"{what}: no {kind.__name__}")
    return None


def decide(address, decision, key=KEY):
    """The person in a browser: opens `address`, decides, and is sent to the address returned."""
    browser = requests.Session()
    page = browser.get(address, allow_redirects=False, timeout=30)
    if page.status_code != 200:
        raise RuntimeError(f"no consent page: {page.status_code} {page.text}")
    sealed = html.unescape(re.search(r'name="request" value="([^"]*)"', page.text).group(1))
    action = re.search(r'<form method="post" action="([^"]*)"', page.text).group(1)
    form = {"request": sealed, "decision": decision, "api_key": key}
    answer = browser.post(requests.compat.urljoin(address, action), data=form, allow_redirects=False, timeout=30)
    if answer.status_code != 303:
        raise RuntimeError(f"no redirect: {answer.status_code} {answer.text}")
    return answer.headers["Location"]


def answer_of(address):
    """Returns the query parameters of the address to which the app is redirected."""
    return dict(parse_qsl(urlsplit(address).query))


def me(base, token):
    """Requests the current user with a token and returns the status."""
    headers = {"Authorization": f"Bearer {token}"}
    return requests.get(f"{base}/api/v2/users/me/", headers=headers, timeout=30).status_code


def authlib(base, client, public):
    """Authlib, configured by the gateway's own metadata."""
    name = "authlib public" if public else "authlib"
    metadata = requests.get(f"{base}/.well-known/oauth-authorization-server", timeout=30).json()
    session = OAuth2Session(
        client["client_id"],
        client["client_secret"],
        scope="read projects.states:read",
        redirect_uri=REDIRECT,
        code_challenge_method="S256",
        token_endpoint_auth_method="none" if public else "client_secret_basic",
    )
    verifier = generate_token(64)
    address, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
    back = decide(address, "allow")
    token = session.fetch_token(
        metadata["token_endpoint"], authorization_response=back, state=state, code_verifier=verifier
    )
    holds(f"{name}: scopes {token['scope']}", set(token["scope"].split()) == {"read", "projects.states:read"})
    holds(f"{name}: the token opens the API", session.get(f"{base}/api/v2/users/me/").status_code == 200)
    raises(
        f"{name}: a code works once",
        OAuthError,
        lambda: session.fetch_token(
            metadata["token_endpoint"], authorization_response=back, state=state, code_verifier=verifier
        ),
    )
    holds(f"{name}: a replayed code ends its token", me(base, token["access_token"]) == 401)

    verifier = generate_token(64)
    address, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
    token = session.fetch_token(
        metadata["token_endpoint"],
        authorization_response=decide(address, "allow"),
        state=state,
        code_verifier=verifier,
    )
    refreshed = session.refresh_token(metadata["token_endpoint"], refresh_token=token["refresh_token"])
    holds(f"{name}: a refresh gives another token", refreshed["access_token"] != token["access_token"])
    holds(f"{name}: the refreshed token opens the API", me(base, refreshed["access_token"]) == 200)
    answer = session.revoke_token(metadata["revocation_endpoint"], token=refreshed["refresh_token"])
    holds(f"{name}: revoked with {answer.status_code}", answer.status_code == 200)
    holds(f"{name}: the revoked token is dead", me(base, refreshed["access_token"]) == 401)
    if not public:
        known = session.introspect_token(metadata["introspection_endpoint"], token=refreshed["access_token"])
        holds(f"{name}: introspection says so", known.json() == {"active": False})

    address, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
    denied = answer_of(decide(address, "deny"))
    expected = {"error": "access_denied", "state": state, "iss": metadata["issuer"]}
    holds(f"{name}: denial is access_denied: {denied}", {name: denied.get(name) for name in expected} == expected)
    holds(f"{name}: denial gives no code", "code" not in denied)


def sdk(base, client):
    """The SDK's own OAuth client, unchanged; it knows no PKCE and sends JSON."""
    with OAuthClient(base_url=base, client_id=client["client_id"], client_secret=client["client_secret"]) as oauth:
        address = oauth.get_authorization_url(redirect_uri=REDIRECT, state="here")
        answer = answer_of(decide(address, "allow"))
        holds("SDK: state comes back", answer["state"] == "here")
        token = oauth.exchange_code(code=answer["code"], redirect_uri=REDIRECT)
        holds("SDK: scopes", set(token.scope.split()) == {"read", "write"} and token.expires_in == 86400)
        user = PlaneClient(base_url=base, access_token=token.access_token).v2.users.me()
        holds(f"SDK: the token is {user.principal_kind}", user.principal_kind == "oauth")
        refreshed = oauth.refresh_token(token.refresh_token)
        holds("SDK: a refresh gives another token", refreshed.access_token != token.access_token)
        oauth.revoke_token(refreshed.access_token)
        holds("SDK: the revoked token is dead", me(base, refreshed.access_token) == 401)
        oauth.revoke_token(refreshed.refresh_token)
        error = raises("SDK: the grant has ended", HttpError, lambda: oauth.refresh_token(refreshed.refresh_token))
        holds("SDK: it is told why", error is not None and error.status_code == 400)
        raises("SDK: no token without a person", HttpError, oauth.get_client_credentials_token)


def main(program):
    program = str(Path(program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CAUSEWAY_")}
        behind, address = free_address(), free_address()
        environment |= {
            "CAUSEWAY_UPSTREAM__BASE_URL": f"http://{behind}",
            "CAUSEWAY_STORE__URL": f"sqlite:{folder}/store.db",
            "CAUSEWAY_SECRETS__KEY_FILE": f"{folder}/secrets",
        }

        def run(*arguments, text=None):
            command = [program, *arguments]
            return subprocess.run(
                command, env=environment, cwd=folder, input=text, check=True, capture_output=True, text=True
            ).stdout

        def client(*arguments):
            return json.loads(
                run("oauth", "client", "create", "--json", "--name", "Test", "--redirect-uri", REDIRECT, *arguments)
            )

        run("secrets", "new", "--file", f"{folder}/secrets")
        sandbox = [program, "sandbox", "--listen", behind, "--quota", "0"]
        serve = [program, "serve", "--listen", address]
        with Running(sandbox, behind, alive="/api/v1/users/me/"):
            with Running(serve, address, cwd=folder, env=environment) as gateway:
                confidential = client()
                authlib(gateway.base, confidential, public=False)
                authlib(gateway.base, client("--public"), public=True)
                sdk(gateway.base, confidential)
                minted = run("key", "mint", "--scopes", "read", "--workspace", "acme", "--expires", "1h", text=KEY)
                key = re.search(r"^key +(\S+)$", minted, re.MULTILINE).group(1)
                headers = {"X-Api-Key": key}
                user = requests.get(f"{gateway.base}/api/v2/users/me/", headers=headers, timeout=30).json()
                holds("a minted key is other", (user["principal_kind"], user["scopes"]) == ("other", ["read"]))
                holds("keys are listed", "unnamed" in run("key", "list"))
                run("secrets", "new", "--file", f"{folder}/secrets")
                holds("keys are sealed anew", "sealed anew" in run("secrets", "rotate"))
                answer = requests.get(f"{gateway.base}/api/v2/users/me/", headers=headers, timeout=30)
                holds("a minted key outlives a rotation", answer.status_code == 200)
                secret = run("oauth", "client", "rotate", confidential["client_id"])
                holds("a rotated secret is shown", "cws_" in secret)
                run("oauth", "client", "delete", confidential["client_id"])
                holds("a deleted client is gone", confidential["client_id"] not in run("oauth", "client", "list"))
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
