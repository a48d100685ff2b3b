/** The browser for tests: an installed Chromium, or the one in `FOXWEDGE_CHROMIUM`. */

import { existsSync } from "node:fs";

import { chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The path of the browser; undefined if there is none. */
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

/** Opens a page. `errors` collects script errors and content security policy violations. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(`${error.stack ?? error}`));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy/i.test(message.text())) {
      errors.push(message.text());
    }
  });
  return { page, context, errors };
}
