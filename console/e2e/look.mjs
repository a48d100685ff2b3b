/**
 * Takes screenshots of every page in both themes:
 * `node e2e/look.mjs FOLDER [PAGES] [en|zh] [WIDTHxHEIGHT]`.
 */

import { mkdirSync } from "node:fs";

import { launch, openPage } from "./parts/browser.mjs";
import { startFakeGateway } from "./parts/made.mjs";
import { PAGES } from "./parts/pages.mjs";

const [folder = "build/look", only = "", language = "en", size = "1360x860"] =
  process.argv.slice(2);
const [width, height] = size.split("x").map(Number);
mkdirSync(folder, { recursive: true });

const site = await startFakeGateway();
const browser = await launch();
for (const theme of ["light", "dark"]) {
  const { page, errors } = await openPage(browser, {
    colorScheme: theme,
    locale: language === "zh" ? "zh-CN" : "en-US",
    viewport: { width, height },
  });
  for (const { name, hash } of PAGES) {
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
