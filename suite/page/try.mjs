// Runs the page in a browser: our engine passes everything, an adapter that changes nothing does not.
//
//     node suite/page/try.mjs FOLDER PICTURE    after `cargo xtask suite page FOLDER`

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";

import { launch, openPage } from "../../console/e2e/parts/browser.mjs";

const [folder = "target/suite-page", picture] = process.argv.slice(2);
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const server = createServer(async (request, response) => {
  const name = request.url === "/" ? "/index.html" : request.url;
  const body = await readFile(join(folder, name)).catch(() => undefined);
  response.writeHead(body ? 200 : 404, { "content-type": types[extname(name)] ?? "text/plain" });
  response.end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await launch();
const { page, errors } = await openPage(browser);
await page.goto(`http://127.0.0.1:${server.address().port}/`);

/** Runs an engine, and returns the line for all questions. */
async function result(engine) {
  await page.locator(`input[value=${engine}]`).check();
  await page.getByRole("button", { name: "Run" }).click();
  await page.waitForFunction(() => /^all /m.test(document.querySelector("#table").textContent), undefined, { timeout: 300_000 });
  const table = await page.locator("#table").textContent();
  return table.match(/^all .*$/m)[0].trim().split(/\s+/);
}

const [, passed, failed, skipped] = await result("foxwedge");
console.log(`foxwedge: ${passed} passed, ${failed} failed, ${skipped} skipped`);
if (picture) await page.screenshot({ path: picture, fullPage: true });
const adapter = await result("adapter");
console.log(`adapter: ${adapter[1]} passed, ${adapter[2]} failed, ${adapter[3]} skipped`);
await browser.close();
server.close();
for (const error of errors) console.log(error);
if (failed !== "0" || skipped !== "0" || adapter[2] === "0" || errors.length > 0) process.exit(1);
