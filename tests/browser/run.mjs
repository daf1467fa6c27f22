// Runs the pages of the gateway in headless Chromium: starts the demo, opens every *_page.mjs beside this
// file, and fails on anything a person would notice: a script error, a request that leaves the host, a
// page wider than its window, a serious fault of accessibility. Each page module has a `name` and
// `run({ base, program, visit, views, told, freePort })`, where `told()` is what the demo printed, and a view may name addresses
// outside (`also`) and a status (`refused`) that its steps lead to on purpose. `views` are the sizes and colours that each page
// is shown in. Steps get `page`, `shot(part)` for a picture of the whole page, `fits(moment)` and `usable(moment)`, which
// lets axe-core look at the page.
// Usage: node run.mjs PATH-TO-CAUSEWAY FOLDER-FOR-SCREENSHOTS FOLDER-OF-WEB-TOOLS
import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [program, screenshots, modules] = process.argv.slice(2).map((path) => resolve(path));
const tools = createRequire(join(modules, "package.json"));
const { chromium } = tools("playwright-core");
const axe = readFileSync(tools.resolve("axe-core/axe.min.js"), "utf8");
const here = dirname(fileURLToPath(import.meta.url));
mkdirSync(screenshots, { recursive: true });

// Another process can get a port that the system chooses before it is used here, so it is one below those (and above the
// last one that browsers refuse).
const freePort = () =>
  new Promise((done) => {
    const port = 11_000 + Math.floor(Math.random() * 21_000);
    const probe = createServer().once("error", () => done(freePort())).listen(port, "127.0.0.1", () => {
      probe.close(() => done(port));
    });
  });

async function started(base, gateway) {
  for (let tries = 0; tries < 1200; tries += 1) {
    if (gateway.exitCode !== null) throw new Error(`the demo ended with ${gateway.exitCode}`);
    const answer = await fetch(`${base}/readyz`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error("the demo did not start in 120 s");
}

// The long run takes pictures of every page in every view. The everyday run shows each size and each colour once.
const long = process.env.LONG_TESTS === "1";
const views = [
  { name: "desktop-light", width: 1280, height: 900, scheme: "light" },
  { name: "phone-dark", width: 390, height: 844, scheme: "dark" },
  { name: "desktop-dark", width: 1280, height: 900, scheme: "dark" },
  { name: "phone-light", width: 390, height: 844, scheme: "light" },
].slice(0, long ? 4 : 2);

const base = `http://127.0.0.1:${await freePort()}`;
const gateway = spawn(program, ["demo", "--listen", base.replace("http://", "")], {
  stdio: ["ignore", "pipe", "ignore"],
});
let printed = "";
gateway.stdout.on("data", (text) => { printed += text; });
const profile = mkdtempSync(join(tmpdir(), "causeway-browser-"));
let browser;
try {
  await started(base, gateway);
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });

  // A machine that does other things as well needs its time for a page of this size.
  browser.setDefaultTimeout(120_000);
  const visit = async (label, view, steps) => {
    const page = await browser.newPage();
    await page.setViewportSize({ width: view.width, height: view.height });
    await page.emulateMedia({ colorScheme: view.scheme });
    const noticed = [];
    page.on("console", (message) => {
      // The browser itself reports every answer of 4xx; a view may lead to one on purpose.
      const onPurpose = view.refused && message.text().includes(`status of ${view.refused}`);
      if (["error", "warning"].includes(message.type()) && !onPurpose) noticed.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => noticed.push(`script: ${error.message}`));
    const expected = [`${base}/`, ...(view.also ?? [])];
    page.on("request", (request) => {
      const url = request.url().replace(/\/\/[^/@]*@/, "//");
      if (!expected.some((start) => url.startsWith(start)) && !url.startsWith("data:") && !url.startsWith("blob:")) noticed.push(`left the host: ${url}`);
    });
    page.on("requestfailed", (request) => noticed.push(`failed: ${request.url()}`));
    const picture = (part, fullPage) => page.screenshot({ path: join(screenshots, `${label}-${part}.png`), fullPage });
    const shot = async (part, fullPage = true) => { if (long) await picture(part, fullPage); };
    // What reaches beyond the window makes the page scroll sideways.
    const fits = async (moment) => {
      const { content, window } = await page.evaluate(() => ({
        content: document.documentElement.scrollWidth,
        window: document.documentElement.clientWidth,
      }));
      assert.ok(content <= window, `${label}, ${moment}: ${content}px in a window of ${window}px`);
    };
    const usable = async (moment) => {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      const faults = violations
        .filter(({ impact }) => ["serious", "critical"].includes(impact))
        .flatMap(({ id, nodes }) => nodes.map((node) => ({ id, at: node.target.join(" "), why: node.failureSummary })));
      assert.deepEqual(faults, [], `${label}, ${moment}: nobody is shut out`);
    };
    try {
      await steps({ page, shot, fits, usable });
      assert.deepEqual(noticed, [], `${label}: nothing to complain about`);
    } catch (error) {
      await picture("failed", false).catch(() => {});
      error.message = `${label}: ${error.message}\n${noticed.join("\n")}`;
      throw error;
    } finally {
      await page.close();
    }
    console.log(`    ${label}: fine`);
  };

  for (const file of readdirSync(here).filter((file) => file.endsWith("_page.mjs")).sort()) {
    const { run } = await import(pathToFileURL(join(here, file)));
    await run({ base, program, visit, views, told: () => printed, freePort });
  }
} finally {
  await browser?.close();
  gateway.kill("SIGTERM");
  rmSync(profile, { recursive: true, force: true });
}
