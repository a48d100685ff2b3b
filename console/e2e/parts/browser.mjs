/** A browser for tests: Debian's Chromium, or the one that is named. */

import { existsSync } from "node:fs";

import { chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where the browser is; nothing if there is none. */
export function browserPath() {
  const named = process.env.FOXWEDGE_CHROMIUM;
  return named ?? PLACES.find((place) => existsSync(place));
}

export async function launch() {
  return chromium.launch({
    executablePath: browserPath(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

/** A page that fails the test if the page's own code fails, or breaks its content security policy. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(`${error.stack ?? error}`));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/i.test(message.text())) {
      troubles.push(message.text());
    }
  });
  return { page, context, troubles };
}
