// The documentation page in a real browser: phone and desktop, light and dark; a key checked at once, workspace and
// project filled in, the search, snippets, what a call cost, and a login with OAuth.
import { strict as assert } from "node:assert";

export const name = "documentation page";

const KEY = "demo-admin-key";
const OPERATIONS = 88;
// Sends the operation that is open, with the button of the page; its status.
async function send(operation) {
  await operation.locator("button.execute").click();
  const status = operation.locator(".live-responses-table .response .response-col_status");
  await status.waitFor();
  return (await status.textContent()).trim().slice(0, 3);
}

// Logs in with OAuth: asked in a window, allowed there with a key, and back on the page with a token.
async function log_in({ base, page, says, phone, shot, fits }) {
  await page.locator("#login").waitFor();
  const asked = page.context().waitForEvent("page");
  await page.locator("#log-in").click();
  const consent = await asked;
  await consent.waitForURL(`${base}/auth/o/authorize/?**`);
  assert.match(await consent.locator("body").innerText(), /Documentation/, "the page is named");
  const policy = new URL(consent.url()).searchParams;
  assert.equal(policy.get("code_challenge_method"), "S256");
  assert.equal(policy.get("redirect_uri"), `${base}/api/v2/docs/oauth2-redirect.html`);
  await consent.getByLabel("Your API key").fill(KEY);
  const closed = consent.waitForEvent("close");
  await consent.getByRole("button", { name: "Allow" }).click();
  await closed;
  await says("You are ada. Type your workspace");
  assert.equal(await page.locator("#key").inputValue(), "", "no key is there");
  const kept = await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]);
  assert.deepEqual(kept, [0, 0, ""], "the token is in the page's memory alone");

  await page.fill("#workspace", "acme");
  await says("With OAuth no projects can be listed");
  if (phone) await page.locator("#contents summary").click();
  await page.fill("#search", "users me");
  await page.locator('#list a[href$="users_me_retrieve"]').click();
  const operation = page.locator('[id="operations-Users-users_me_retrieve"]');
  await operation.locator("button.execute").waitFor();
  const sent = page.waitForRequest((request) => request.url() === `${base}/api/v2/users/me/`);
  assert.equal(await send(operation), "200", "a call with the token is answered");
  const headers = await (await sent).allHeaders();
  assert.match(headers.authorization, /^Bearer cwa_/);
  assert.equal(headers["x-api-key"], undefined, "no key is sent beside it");
  const snippets = operation.locator(".request-snippets");
  await snippets.getByText("curl", { exact: true }).click();
  const text = await snippets.textContent();
  assert.match(text, /Authorization: Bearer \$TOKEN/);
  assert.ok(!text.includes("cwa_"), "snippets never show the token");
  await page.evaluate(() => scrollTo(0, 0));
  await fits("logged in");
  await shot("logged-in");

  await page.locator("#log-out").click();
  await says("Type a key");
  const ended = await fetch(`${base}/api/v2/users/me/`, { headers: { authorization: headers.authorization } });
  assert.equal(ended.status, 401, "the token ended with the login");
}

export async function run({ base, visit, views }) {
  for (const view of views) {
    await visit(`docs-${view.name}`, { ...view, refused: 401 }, async ({ page, shot, fits, usable }) => {
      const phone = view.width < 900;
      await page.goto(`${base}/api/v2/docs/`);
      await page.waitForSelector(".opblock");
      assert.equal(await page.locator(".opblock").count(), OPERATIONS, "every operation is listed");
      assert.equal(await page.locator("#list a").count(), OPERATIONS, "and is at the side");
      const dark = await page.evaluate(() => {
        const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
        return r + g + b < 384;
      });
      assert.equal(dark, view.scheme === "dark", "the page follows the colours of the system");
      assert.equal(await page.getByText("Audit logs Audit logs").count(), 0, "no phrase says a name twice");
      await fits("closed");
      await shot("closed", false);

      const state = page.locator("#key-state");
      const says = (text) => page.waitForFunction((text) => document.getElementById("key-state").textContent.includes(text), text);
      await log_in({ base, page, says, phone, shot, fits });
      await page.fill("#workspace", "");
      await page.fill("#key", KEY);
      await says("You are ada. Type your workspace");
      await page.fill("#workspace", "acme");
      await says("You are ada, in acme.");
      assert.ok((await page.locator("#project-choice option").count()) > 0, "the projects are there to be picked");

      if (phone) await page.locator("#contents summary").click();
      await page.fill("#search", "list labels");
      const found = await page.locator("#list a").count();
      assert.ok(found > 0 && found < 10, `the search leaves ${found}`);
      await page.locator('#list a[href$="labels_list"]').first().click();
      const operation = page.locator('[id="operations-Labels-labels_list"]');
      await operation.locator("button.execute").waitFor();
      assert.equal(await operation.locator(".try-out .cancel:visible").count(), 0, "no Cancel is shown");
      const filled = await operation.locator('tr[data-param-name="slug"] input').inputValue();
      assert.equal(filled, "acme", "the workspace is filled in");
      await operation.locator("button.execute").click();
      const status = operation.locator(".live-responses-table .response .response-col_status");
      await status.waitFor();
      assert.match((await status.textContent()).trim(), /^200/, "a request with the key is answered");
      assert.match(await operation.locator(".told-cost").textContent(), /This took \d+ calls? to v1/, "its cost is told");
      assert.match(await page.locator("#cost").textContent(), /Last call: 200, \d+ calls? to v1/);
      const snippets = operation.locator(".request-snippets");
      await snippets.getByText("Python", { exact: true }).click();
      assert.match(await snippets.textContent(), /client\.v2\.workspaces\.projects\.labels\.list\("acme"/);
      await snippets.getByText("TypeScript", { exact: true }).click();
      assert.match(await snippets.textContent(), /await fetch\(/);
      assert.ok(!(await snippets.textContent()).includes(KEY), "snippets never show the key");
      await operation.scrollIntoViewIfNeeded();
      await fits("sent");
      // To look through 88 operations takes seconds. The dark phone has the order of the one and the colours of the other.
      if (!phone || view.scheme === "light") await usable("sent");
      await shot("sent", false);

      await page.evaluate(() => scrollTo(0, 0));
      await page.fill("#key", "cwk_never-given-out");
      await says("Refused: This access token or gateway key is not good");
      assert.ok(await state.evaluate((output) => output.classList.contains("bad")));
      await fits("refused");
      await shot("refused", false);
    });
  }
}
