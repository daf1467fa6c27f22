// The consent page in a real browser: phone and desktop, light and dark, with and without scripts; a person
// allows an app, and denies it.
import { strict as assert } from "node:assert";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";

export const name = "consent page";

const KEY = "demo-admin-key";

// Plays the app: answers whatever comes back, so that the browser has somewhere to arrive.
async function app() {
  const server = createServer((request, answer) => {
    answer.setHeader("content-type", "text/html; charset=utf-8");
    answer.end("<!doctype html><title>App</title><link rel=icon href=data:,>Back in the app");
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { server, address: `http://127.0.0.1:${server.address().port}` };
}

export async function run({ base, visit, views, told }) {
  const [, id, secret] = told().match(/OAuth app\s+(\S+), secret (\S+)/);
  const { server, address } = await app();
  const redirect = `${address}/callback`;
  const verifier = randomBytes(32).toString("base64url");
  const asked = new URLSearchParams({
    response_type: "code",
    client_id: id,
    redirect_uri: redirect,
    scope: "read projects.work_items:write projects.work_items.comments:write",
    state: "kept & returned",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const narrow = { name: "phone-narrow", width: 320, height: 568, scheme: "light" };
  const bare = { name: "phone-without-scripts", width: 390, height: 844, scheme: "light", scripts: false };
  try {
    for (const view of [...views, narrow, bare]) {
      await visit(`consent-${view.name}`, { ...view, also: [`${address}/`] }, async ({ page, shot, fits, usable }) => {
        if (view.scripts === false) {
          const session = await page.context().newCDPSession(page);
          await session.send("Emulation.setScriptExecutionDisabled", { value: true });
        }
        const open = async () => {
          const answer = await page.goto(`${base}/auth/o/authorize/?${asked}`);
          assert.equal(answer.status(), 200);
        };
        await open();
        const text = await page.locator("body").innerText();
        assert.match(text, /Demo app/, "the app is named");
        assert.equal(await page.locator("li").count(), 3, "each scope has a line");
        const dark = await page.evaluate(() => {
          const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
          return r + g + b < 384;
        });
        assert.equal(dark, view.scheme === "dark", "the page follows the colours of the system");
        const unlabelled = await page.evaluate(() =>
          [...document.querySelectorAll("input:not([type=hidden]), button")]
            .filter((input) => !(input.labels?.length || input.textContent.trim()))
            .map((input) => input.outerHTML));
        assert.deepEqual(unlabelled, [], "everything to fill in or to press has a name");
        for (const button of await page.getByRole("button").all()) {
          const { height } = await button.boundingBox();
          assert.ok(height >= 40, `a button of ${height}px is hard to hit`);
        }
        await fits("asked");
        if (view.scripts !== false) await usable("asked");
        await shot("asked");

        const arrived = async (click) => {
          await Promise.all([page.waitForURL(`${redirect}?**`), click()]);
          return new URL(page.url()).searchParams;
        };
        const denied = await arrived(() => page.getByRole("button", { name: "Deny" }).click());
        assert.equal(denied.get("error"), "access_denied");
        assert.equal(denied.get("state"), "kept & returned");
        assert.equal(denied.get("iss"), base);
        assert.equal(denied.get("code"), null);

        await open();
        await page.getByLabel("Your API key").fill(KEY);
        const allowed = await arrived(() => page.getByRole("button", { name: "Allow" }).click());
        assert.equal(allowed.get("state"), "kept & returned");
        assert.equal(allowed.get("iss"), base);
        assert.equal(allowed.get("error"), null);
        const token = await fetch(`${base}/auth/o/token/`, {
          method: "POST",
          body: new URLSearchParams({
            grant_type: "authorization_code",
            client_id: id,
            client_secret: secret,
            code: allowed.get("code"),
            redirect_uri: redirect,
            code_verifier: verifier,
          }),
        });
        assert.equal(token.status, 200, "the code is good");
        const { access_token: access } = await token.json();
        const me = await fetch(`${base}/api/v2/users/me/`, { headers: { authorization: `Bearer ${access}` } });
        assert.equal(me.status, 200, "and so is the token");
      });
    }
  } finally {
    server.close();
  }
}
