// The board about the move: empty, with a month of calls, with the comparison with a v2 of the deployment's own (for which the
// demo stands), filtered, and without scripts.
import { strict as assert } from "node:assert";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const name = "board";

const KEY = "demo-admin-key";
const HOSTILE = `"><script>document.title="taken"</script>/1`;

// Calls of the days before today: an old client that stays, one that moves, one that has moved.
const MONTH = `
import sqlite3, sys, time
store = sqlite3.connect(sys.argv[1], timeout=120)
today = int(time.time()) // 86400
rows = []
for back in range(1, 30):
    day, moved = today - back, 29 - back
    rows += [(day, "v1_work_items_list", 2, "c1", "nightly-report-of-the-finance-team/1.0", 40 + back % 7 * 9),
             (day, "v1_states_list", 2, "c1", "nightly-report-of-the-finance-team/1.0", 5),
             (day, "work_items_list", 2, "c3", "new-tool/3.1", 90)]
    rows.append((day, "work_items_list", 2, "c2", "plane-sdk/1.2.3", 6 * moved + 1))
    if back > 3:
        rows.append((day, "v1_work_items_list", 2, "c2", "plane-sdk/1.2.3", 6 * back))
    if back > 16:
        rows.append((day, "v1_labels_list", 2, "c2", "plane-sdk/1.2.3", back))
    rows.append((day, "v1 unknown GET workspaces/{name}/{name}/", 4, "unproven", "curl/8.0", 1))
people = [("c1", "v1 key", "finance", "", 0), ("c2", "gateway key", "bob", "Key of the build server, third floor", 0),
          ("c3", "app", "ada", "New tool", 0)]
with store:
    store.executemany("INSERT INTO usage_count (day, operation, class, caller, client, calls) VALUES (?, ?, ?, ?, ?, ?)", rows)
    store.executemany("INSERT INTO usage_caller (fingerprint, kind, person, title, seen_at) VALUES (?, ?, ?, ?, ?)", people)
`;

async function until(what, holds, log = () => "") {
  for (let tries = 0; tries < 1200; tries += 1) {
    if (await holds(tries)) return;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error(`120 s passed without ${what}\n${log()}`);
}

// Clicks, and waits for the whole page that this leads to.
async function follow(page, link) {
  await link.click();
  await page.waitForLoadState();
}

export async function run({ base, program, visit, views, told, freePort }) {
  const project = told().match(/project\s+\S+ \((\S+)\)/)[1];
  const folder = mkdtempSync(join(tmpdir(), "causeway-board-"));
  const ports = [await freePort(), await freePort(), await freePort()];
  const [v1, gateway, operators] = ports.map((port) => `127.0.0.1:${port}`);
  const store = join(folder, "store.db");
  const begun = [];
  let log = "";
  const begin = (...words) => {
    const child = spawn(program, words, { stdio: ["ignore", "ignore", "pipe"], cwd: folder });
    child.stderr.on("data", (text) => { log = (log + text).slice(-4000); });
    begun.push(child);
  };
  const set = (settings) => Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
  const board = `http://${operators}/migration/`;
  try {
    begin("sandbox", "--listen", v1, "--quota", "0");
    await until("the embedded v1", () => fetch(`http://${v1}/`).then(() => true, () => false));
    begin("serve", "--upstream", `http://${v1}`, "--listen", gateway, "--store", `sqlite:${store}`, ...set({
      "admin.listen": operators,
      "usage.flush": "300ms",
      "usage.learn": false,
      "cache.collection": "1s",
      "upstream.quota": 0,
      "native.base_url": base,
      "native.serve": '[{operations = ["all"], mode = "shadow"}]',
      "native.shadow.rate": 100,
    }));
    await until("the gateway", () => fetch(`http://${gateway}/readyz`).then((answer) => answer.ok, () => false), () => log);

    for (const view of views) {
      await visit(`board-empty-${view.name}`, { ...view, also: [`http://${operators}/`] }, async ({ page, shot, fits, usable }) => {
        await page.goto(`http://${operators}/`);
        await fits("home of operators");
        await usable("home of operators");
        await shot("operators");
        await follow(page, page.getByRole("link", { name: "The move from v1 to v2" }));
        assert.match(await page.locator("body").innerText(), /No call was counted yet\.\s+1?\.?\s*Point your v1 clients/);
        await fits("empty");
        await usable("empty");
        await shot("empty");
      });
    }

    const ask = (agent, path, method = "GET", body = undefined) => fetch(`http://${gateway}/api/${path}`, {
      method, body, headers: { "x-api-key": KEY, "user-agent": agent, "content-type": "application/json" },
    });
    const in_v1 = `v1/workspaces/acme/projects/${project}`;
    const in_v2 = `v2/workspaces/acme/projects/${project}`;
    assert.equal(spawnSync("python3", ["-c", MONTH, store], { stdio: "inherit" }).status, 0, "a month was written");
    const label = JSON.stringify({ name: "only here", color: "#ff0000" });
    assert.equal((await ask("new-tool/3.1", `${in_v2}/labels/`, "POST", label)).status, 201);
    for (const path of ["states", "labels", "work-items", "cycles", "modules"]) {
      assert.equal((await ask("new-tool/3.1", `${in_v2}/${path}/`)).status, 200);
    }
    assert.equal((await ask(HOSTILE, `${in_v1}/issues/`)).status, 200);
    assert.equal((await ask("plane-sdk/1.2.3", `${in_v1}/cycles/`)).status, 200);
    await until("every client and a difference on the board", async (tries) => {
      // A comparison that the machine was too slow for is made anew.
      if (tries % 50 === 49) await ask("new-tool/3.1", `${in_v2}/labels/`);
      const shown = await (await fetch(board)).text();
      return shown.includes("unreadable") && /labels_list<\/th><td[^>]*>\d+<\/td><td[^>]*>[1-9]/.test(shown);
    });

    for (const view of views) {
      await visit(`board-${view.name}`, { ...view, also: [`http://${operators}/`] }, async ({ page, shot, fits, usable }) => {
        const look = async (part) => {
          await fits(part);
          await usable(part);
          await shot(part);
        };
        await page.goto(board);
        assert.equal(await page.title(), "The move from v1 to v2", "no script of a client runs");
        const clients = page.locator("table").first();
        for (const client of ["nightly-report-of-the-finance-team/1.0", "plane-sdk/1.2.3", "new-tool/3.1", "unreadable"]) {
          assert.equal(await clients.getByRole("link", { name: client }).count(), 1, client);
        }
        const bars = await clients.locator("tr", { hasText: "plane-sdk" }).locator("rect.v2").count();
        assert.ok(bars >= 28, `a bar for each day: ${bars}`);
        await look("all");

        // What replaces a call is one click away, and can be read.
        const left = page.locator("details", { hasText: "work items of a project" });
        const v2 = left.getByText(/GET \/api\/v2\/workspaces\/\{slug\}\/projects\/\{project_id\}\/work-items\//).first();
        assert.ok(!(await v2.isVisible()));
        await left.locator("summary").click();
        assert.ok(await v2.isVisible(), "the v2 request is one click away");
        assert.match(await page.locator("ul").innerText(), /v1_labels_list/, "what is ready");
        await look("opened");
        const compared = page.locator("#compared ~ div").first();
        assert.match(await compared.innerText(), /labels_list\s+\d+\s+[1-9]/);
        assert.match(await page.locator("#compared ~ div").nth(1).innerText(), /labels_list/, "the difference has a line");

        await follow(page, page.getByRole("link", { name: "plane-sdk/1.2.3" }));
        assert.match(await page.locator("form").innerText(), /Only client plane-sdk\/1\.2\.3\. Show all/);
        assert.equal(await clients.locator("tbody tr").count(), 1);
        await look("one-client");
        await follow(page, page.getByRole("link", { name: "Show all" }));
        await page.locator("input[name=client]").fill("nobody-of-this-name");
        await page.locator("select[name=days]").selectOption("7");
        await follow(page, page.getByRole("button", { name: "Show" }));
        assert.match(await page.locator("body").innerText(), /No call of client nobody-of-this-name was counted/);
        await look("none");
        const csv = await fetch(`${board}counts.csv?client=plane-sdk%2F1.2.3`);
        assert.match(await csv.text(), /^date,api,operation[^]*plane-sdk\/1\.2\.3/);
      });
    }

    const bare = { name: "without-scripts", width: 390, height: 844, scheme: "light", also: [`http://${operators}/`] };
    await visit(`board-${bare.name}`, bare, async ({ page }) => {
      const session = await page.context().newCDPSession(page);
      await session.send("Emulation.setScriptExecutionDisabled", { value: true });
      await page.goto(board);
      const left = page.locator("details", { hasText: "work items of a project" });
      await left.locator("summary").click();
      assert.ok(await left.getByText(/v2: GET/).first().isVisible(), "it opens without scripts");
    });
  } finally {
    for (const child of begun.reverse()) child.kill("SIGTERM");
    await until("the end of the gateway", () => begun.every((child) => child.exitCode !== null || child.signalCode !== null))
      .finally(() => rmSync(folder, { recursive: true, force: true }));
  }
}
