/** A chat in a page of another origin, made with the components of the package. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "vite";

import { launch, openPage } from "./parts/browser.mjs";
import { Gateway } from "./parts/serve.mjs";
import { startSite } from "./parts/site.mjs";

const HTML = `<!doctype html><html lang="en"><title>A page</title>
<link rel="stylesheet" href="/page.css"><h1>Somebody's page</h1>
<div id="chat" style="height: 400px"></div><button id="remove">Remove</button>
<script type="module" src="/page.js"></script></html>`;

let browser;
let gateway;
let site;

before(async () => {
  const files = await bundle();
  const send = (type, text) => ({ reply }) => {
    reply.writeHead(200, { "content-type": type });
    reply.end(text);
  };
  site = await startSite([
    ["GET", /^\/page\.js$/, send("text/javascript", files.js)],
    ["GET", /^\/page\.css$/, send("text/css", files.css)],
    ["GET", /^\/page$/, send("text/html; charset=utf-8", HTML)],
  ]);
  const origin = new URL(site.url).origin;
  gateway = await Gateway.start({ config: `[access]\norigins = ["${origin}"]\n` });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await gateway?.close();
  await site?.close();
});

test("another page embeds a chat, and removes it", async () => {
  const { page, errors } = await openPage(browser, { locale: "en-US" });
  const query = new URLSearchParams({ url: gateway.url.replace(/\/$/, ""), token: gateway.token });
  await page.goto(`${site.url}page?${query}`);
  await page.locator(".fw-composer textarea").fill("hello **there**");
  await page.keyboard.press("Enter");
  await page.locator(".fw-markdown b", { hasText: "there" }).waitFor();
  await page.locator('[data-outcome="completed"]').waitFor();
  assert.equal(await page.locator(".fw-turn").count(), 1);
  await page.getByRole("button", { name: "Remove" }).click();
  await page.locator(".fw-chat").waitFor({ state: "detached" });
  assert.deepEqual(errors, []);
});

/** The script and the styles of the page, bundled as its owner would do it. */
async function bundle() {
  const entry = fileURLToPath(new URL("./parts/embedded-page.js", import.meta.url));
  const built = await build({
    configFile: false,
    logLevel: "error",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: { write: false, lib: { entry, formats: ["es"], fileName: "page" } },
  });
  const [{ output }] = Array.isArray(built) ? built : [built];
  const css = output.find(({ fileName }) => fileName.endsWith(".css"));
  return { js: output.find(({ isEntry }) => isEntry).code, css: css?.source ?? "" };
}
