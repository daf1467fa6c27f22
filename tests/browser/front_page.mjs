// What a person meets first: the start page, a page of an error code, and a path that is none.
import { strict as assert } from "node:assert";

export const name = "front pages";

export async function run({ base, visit, views }) {
  for (const view of views) {
    await visit(`front-${view.name}`, { ...view, refused: 404 }, async ({ page, shot, fits, usable }) => {
      for (const [part, path, status, heading] of [
        ["home", "/", 200, "Causeway"],
        ["error", "/errors/workflow_transition_denied", 200, "workflow_transition_denied"],
        ["nothing", `/nothing/${"at-a-long-path/".repeat(12)}`, 404, "There is nothing at this path"],
      ]) {
        const answer = await page.goto(`${base}${path}`);
        assert.equal(answer.status(), status, path);
        assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), heading);
        const dark = await page.evaluate(() => {
          const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
          return r + g + b < 384;
        });
        assert.equal(dark, view.scheme === "dark", "the page follows the colours of the system");
        await fits(part);
        await usable(part);
        await shot(part);
      }
      // Each page leads on.
      await page.getByRole("link", { name: "Start page" }).click();
      await page.waitForURL(`${base}/`);
      await page.getByRole("link", { name: "Documentation of v2" }).click();
      await page.waitForSelector(".opblock");
      assert.equal(page.url(), `${base}/api/v2/docs/`);
    });
  }
}
