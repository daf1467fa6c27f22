// The documentation page in a real browser: phone and desktop, light and dark.
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
    await visit(`docs-${view.name}`, view, async ({ page, shot, fits }) => {
      await page.goto(`${base}/api/v2/docs/`);
      await page.waitForSelector(".opblock");
      assert.equal(await page.locator(".opblock").count(), OPERATIONS, "every operation is listed");
      const dark = await page.evaluate(() => {
        const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
        return r + g + b < 384;
      });
      assert.equal(dark, view.scheme === "dark", "the page follows the colours of the system");
      await fits("closed");
      await shot("closed");

      await page.fill("#key", KEY);
      const operation = page.locator("#operations-Users-users_me_retrieve");
      await operation.locator(".opblock-summary-control").click();
      await operation.locator("button.execute").click();
      const status = operation.locator(".live-responses-table .response .response-col_status");
      await status.waitFor();
      assert.match((await status.textContent()).trim(), /^200/, "a request with the key is answered");
      await operation.scrollIntoViewIfNeeded();
      await fits("sent");
      await shot("sent");

      const wide = page.locator("#operations-Work_items-work_items_list");
      await wide.locator(".opblock-summary-control").click();
      await wide.locator(".parameters-container").first().waitFor();
      await wide.scrollIntoViewIfNeeded();
      await fits("a long list of parameters");
      await shot("parameters");
    });
  }
}
