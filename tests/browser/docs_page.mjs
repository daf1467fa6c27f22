// The documentation page in a real browser: phone and desktop, light and dark; a key checked at once, workspace and
// project filled in, the search, snippets, and what a call cost.
import { strict as assert } from "node:assert";

export const name = "documentation page";

const KEY = "demo-admin-key";
const OPERATIONS = 88;

export async function run({ base, visit }) {
  const views = [
    { name: "desktop-light", width: 1280, height: 900, scheme: "light" },
    { name: "desktop-dark", width: 1280, height: 900, scheme: "dark" },
    { name: "phone-light", width: 390, height: 844, scheme: "light" },
    { name: "phone-dark", width: 390, height: 844, scheme: "dark" },
  ];
  for (const view of views) {
    await visit(`docs-${view.name}`, { ...view, refused: 401 }, async ({ page, shot, fits }) => {
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
      await shot("closed");

      const state = page.locator("#key-state");
      const says = (text) => page.waitForFunction((text) => document.getElementById("key-state").textContent.includes(text), text);
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
      await shot("sent");

      await page.evaluate(() => scrollTo(0, 0));
      await page.fill("#key", "cwk_never-given-out");
      await says("Refused: This access token or gateway key is not good");
      assert.ok(await state.evaluate((output) => output.classList.contains("bad")));
      await fits("refused");
      await shot("refused");
    });
  }
}
