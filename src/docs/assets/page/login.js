// Logging in with OAuth: the code flow with PKCE (RFC 7636) against this gateway, in a window of its own. The token lives
// in the page's memory alone.
"use strict";

const Login = (() => {
  const encoded = (bytes) => btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const random = () => encoded(crypto.getRandomValues(new Uint8Array(32)));

  // The answer with this state, which oauth2-redirect.html tells all windows of this host.
  const answered = (state, opened) => new Promise((done, failed) => {
    const channel = new BroadcastChannel("causeway-login");
    let closed = 0;
    const looking = setInterval(() => {
      // A window that has told its answer closes itself; the answer arrives before the second look.
      closed += opened.closed ? 1 : 0;
      if (closed > 1) end(() => failed(new Error("the window was closed")));
    }, 500);
    const end = (what) => { channel.close(); clearInterval(looking); what(); };
    channel.onmessage = ({ data }) => {
      const said = new URLSearchParams(data);
      if (said.get("state") === state) end(() => done(said));
    };
  });

  // Asks the person in a window; answers the token and what it opens.
  const log_in = async (base, { client_id, redirect_uri }, scope) => {
    if (!crypto.subtle) throw new Error("browsers do this on https and on this machine only");
    const opened = window.open("about:blank", "causeway-login", "popup,width=520,height=760");
    if (!opened) throw new Error("the browser opened no window");
    const [state, verifier] = [random(), random()];
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const asked = new URLSearchParams({ response_type: "code", client_id, redirect_uri, scope, state,
      code_challenge: encoded(new Uint8Array(digest)), code_challenge_method: "S256" });
    opened.location = `${base}/auth/o/authorize/?${asked}`;
    const said = await answered(state, opened);
    if (said.get("error")) throw new Error(said.get("error_description") || said.get("error"));
    if (said.get("iss") !== base) throw new Error("another server has answered");
    const form = { grant_type: "authorization_code", client_id, redirect_uri, code: said.get("code"), code_verifier: verifier };
    const answer = await fetch(`${base}/auth/o/token/`, { method: "POST", body: new URLSearchParams(form) });
    const token = await answer.json();
    if (!answer.ok) throw new Error(token.error_description || token.error);
    return { token: token.access_token, scope: token.scope };
  };

  // Ends the token at the gateway too.
  const log_out = (base, { client_id }, token) =>
    fetch(`${base}/auth/o/revoke/`, { method: "POST", body: new URLSearchParams({ client_id, token }) })
      .then((answer) => answer.text()).catch(() => null);

  // The client of this page, or a sentence on how to get one.
  const client = async () => {
    const answer = await fetch("login.json").catch(() => null);
    const told = answer && answer.ok ? await answer.json() : {};
    if (!told.redirect_uri) return { why: "" };
    const home = new URL(told.redirect_uri).origin;
    if (!told.set_up) return { why: "Nobody can log in with OAuth here: the gateway has no secret (docs/oauth.md)." };
    if (home !== location.origin) return { why: `Open this page at ${home} to log in with OAuth.` };
    if (!told.client_id) {
      return { why: "To let people log in with OAuth here, an operator registers this page: " +
        `causeway oauth client create --public --name Documentation --redirect-uri ${told.redirect_uri}` };
    }
    return { known: told };
  };

  return { client, log_in, log_out };
})();
