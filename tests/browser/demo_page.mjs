// The way that the demo's link takes a person through: a key is asked for, an app is allowed, and the app's own page shows what
// came of it. Then the page where it is taken back.
import { strict as assert } from "node:assert";

export const name = "demo flow";

const KEY = "demo-admin-key";

export async function run({ base, visit, views, told }) {
  assert.match(told(), new RegExp(`^Causeway demo\\s+start here\\s+${base}/`), "the first address is that of the start page");
  const link = told().match(/\S+\/auth\/o\/authorize\/\S+/)[0];
  const app = new URL(new URL(link).searchParams.get("redirect_uri")).origin;
  for (const view of views) {
    await visit(`demo-${view.name}`, { ...view, refused: 403, also: [`${app}/`] }, async ({ page, shot, fits, usable }) => {
      const look = async (part) => {
        await fits(part);
        await usable(part);
        await shot(part);
      };
      const decide = async (choice) => {
        await page.goto(link);
        await page.getByLabel("Your API key").fill(KEY);
        await Promise.all([page.waitForURL(`${app}/**`), page.getByRole("button", { name: choice }).click()]);
      };
      await page.goto(link);
      await page.getByLabel("Your API key").fill("no-key-at-all");
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByRole("alert").waitFor();
      await look("refused-key");
      await decide("Deny");
      assert.match(await page.locator("h1").innerText(), /has not been allowed/);
      await look("denied");
      await decide("Allow");
      assert.match(await page.locator("h1").innerText(), /has been allowed/);
      assert.match(await page.locator("body").innerText(), /acts for ada@acme\.test/, "the token is good");
      await look("finished");

      await page.getByRole("link", { name: "apps you have allowed" }).click();
      await page.waitForURL(`${base}/auth/o/grants/`);
      await look("grants-asked");
      await page.getByLabel("Your API key").fill(KEY);
      await page.getByRole("button", { name: "Show" }).click();
      const back = page.getByRole("button", { name: "Take back from Demo app" });
      await back.first().waitFor();
      await look("grants");
      for (let left = await back.count(); left > 0; left -= 1) {
        await back.first().click();
        await page.getByRole("status").waitFor();
        await page.waitForFunction(
          (left) => document.querySelectorAll("button[name=grant]").length < left, left);
      }
      assert.equal(await back.count(), 0, "nothing is allowed any more");
      await look("grants-none");
    });
  }  const operators = told().match(/operators\s+(\S+)/)[1];
  const { host } = new URL(operators);
  const wide = views[0];
  await visit("demo-operators", { ...wide, also: [`http://${host}/`] }, async ({ page, shot }) => {
    // Counts are written every ten seconds, and later on a busy machine.
    for (let tries = 0; tries < 120; tries += 1) {
      await page.goto(operators);
      if (await page.locator("details").count()) break;
      await page.waitForTimeout(1000);
    }
    assert.ok((await page.locator("details").count()) > 0, "the small old client has something on the board");
    await shot("board");
  });
}
