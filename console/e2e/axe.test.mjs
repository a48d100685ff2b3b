/** Every page, checked by axe-core: in both themes and languages, on a desktop and on a phone. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { launch, openPage } from "./parts/browser.mjs";
import { startFakeGateway } from "./parts/made.mjs";
import { PAGES } from "./parts/pages.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

let browser;
let site;

before(async () => {
  site = await startFakeGateway();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await site?.close();
});

for (const colorScheme of ["light", "dark"]) {
  for (const viewport of SIZES) {
    for (const locale of ["en-US", "zh-CN"]) {
      test(`every page is accessible and fits: ${colorScheme}, ${viewport.width} px, ${locale}`, async () => {
        const options = { colorScheme, viewport, locale, reducedMotion: "reduce" };
        const { page, context, errors } = await openPage(browser, options);
        const found = [];
        for (const { hash, text } of PAGES) {
          await page.goto(`${site.url}${hash}`);
          await page.locator("main h1").waitFor();
          if (locale === "en-US") await page.getByText(text).first().waitFor({ state: "attached" });
          await page.waitForFunction(() => document.querySelector("[data-loading]") === null);
          await page.evaluate(AXE);
          found.push(...(await page.evaluate(violations)).map((one) => `${hash}: ${one}`));
          found.push(...(await page.evaluate(misfits)).map((one) => `${hash}: ${one}`));
        }
        await context.close();
        assert.deepEqual([...errors, ...found], []);
      });
    }
  }
}

/** What axe finds, with the first elements. Runs in the page. */
async function violations() {
  const { violations: all } = await window.axe.run(document, { resultTypes: ["violations"] });
  return all.map(({ id, nodes }) => {
    const elements = nodes.slice(0, 3).map(({ html }) => html);
    return `${id}: ${elements.join(" | ")}`;
  });
}

/** What is too wide for its place, and animations in spite of reduced motion. Runs in the page. */
function misfits() {
  const found = [];
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} px wide`);
  for (const panel of document.querySelectorAll(".panel, .page-head, .figures")) {
    if (panel.scrollWidth > panel.clientWidth + 1)
      found.push(`.${panel.className} cuts off ${panel.scrollWidth - panel.clientWidth} px`);
  }
  if (document.getAnimations().length > 0) found.push("an animation runs");
  return found;
}
