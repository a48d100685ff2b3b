/**
 * Takes screenshots of every page in both themes:
 * `node e2e/look.mjs FOLDER [PAGES] [en|zh] [WIDTHxHEIGHT]`.
 */

import { mkdirSync } from "node:fs";

import { launch, openPage } from "./parts/browser.mjs";
import { startFakeGateway } from "./parts/made.mjs";

const [folder = "build/look", only = "", language = "en", size = "1360x860"] =
  process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
mkdirSync(folder, { recursive: true });

const PAGES = [
  ["start", "#/start"],
  ["chat", "#/chat"],
  ["several", "#/repair?ids=f-0001,f-0005,f-0003"],
  ["gateway", "#/sessions/s-9c01"],
  ["request", "#/feed/q-1000000"],
  ["sessions", "#/sessions"],
  ["session", "#/sessions/f-0001"],
  ["findings", "#/sessions/f-0001?tab=findings"],
  ["branches", "#/sessions/f-0001?tab=tree"],
  ["records", "#/sessions/f-0001?tab=raw&line=5"],
  ["repair", "#/sessions/f-0001/repair"],
  ["runs", "#/runs"],
  ["run", "#/runs/run-7f3a?call=1+c3"],
  ["run-open", "#/runs/run-open"],
  ["run-said", "#/runs/run-7f3a?tab=said"],
  ["run-tasks", "#/runs/run-7f3a?tab=tasks"],
  ["run-events", "#/runs/run-7f3a?tab=events"],
  ["feed", "#/feed?id=q-1000000"],
  ["compaction", "#/compaction"],
  ["metrics", "#/metrics"],
  ["rule", "#/rules/FW101"],
];

const site = await startFakeGateway();
const browser = await launch();
for (const theme of ["light", "dark"]) {
  const { page, errors } = await openPage(browser, {
    colorScheme: theme,
    locale: language === "zh" ? "zh-CN" : "en-US",
    viewport: { width, height },
  });
  for (const [name, hash] of PAGES) {
    if (only !== "" && !only.split(",").includes(name)) continue;
    await page.goto(`${site.url}${hash}`);
    await page.reload();
    if (name === "chat") {
      await page.locator(".fw-composer textarea").fill("The parser drops empty lines. Why?");
      await page.keyboard.press("Enter");
    }
    await page.waitForTimeout(900);
    await page.screenshot({ path: `${folder}/${name}-${theme}.png` });
  }
  for (const error of errors) console.log(error);
  await page.context().close();
}
await browser.close();
await site.close();
