/** The console with a real gateway. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { launch, openPage } from "./parts/browser.mjs";
import { Gateway, fixtures } from "./parts/serve.mjs";

const BROKEN = "sdk-mcp-kill9.after-kill.jsonl";
const ID = "02875600-5448-4024-b80c-0014fb984e0b";

let browser;
let gateway;

/** A configuration with a live agent that requests an approval. */
const AGENT = `
[[upstream]]
name = "scripted"
kind = "scripted"

[[upstream]]
name = "agent"
kind = "claude-code"
command = [${JSON.stringify(process.env.FOXWEDGE_SCRIPTED_AGENT ?? "")}, "--fake", "permission"]
ask_user = true

[[upstream]]
name = "messages"
kind = "scripted"
formats = ["anthropic"]

[[route]]
model = "claude-code"
upstream = "agent"

[[route]]
model = "converted"
upstream = "messages"

[[route]]
model = "*"
upstream = "scripted"
`;

before(async () => {
  const text = readFileSync(join(fixtures(), "sessions/claude-code/2.1.325", BROKEN), "utf8")
    // All tested versions continue with open calls; this version is older.
    .replaceAll("2.1.325", "1.0.99");
  gateway = await Gateway.start({ sessions: { [`${ID}.jsonl`]: text }, config: AGENT });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await gateway?.close();
});

/** Opens a route and runs the test with the page. Page errors fail the test. */
async function withPage(hash, run) {
  const { page, context, errors } = await openPage(browser, { locale: "en-US" });
  try {
    await page.goto(gateway.page(hash));
    await run(page);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
  }
}

const statuses = (page) =>
  page
    .locator("[data-call] [data-status]")
    .evaluateAll((all) => all.map((one) => one.dataset.status));

test("the token is removed from the address, and without one the page prompts for it", async () => {
  await withPage("/runs", async (page) => {
    await page.locator("h1", { hasText: "Runs" }).waitFor();
    assert.equal(new URL(page.url()).hash, "#/runs");
    await page.reload();
    await page.locator(".server.up").waitFor();
    const working = await page.evaluate(() => sessionStorage.getItem("foxwedge.token"));
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await page.getByText("This gateway requires a token").waitFor();
    // A link that is pasted into the locked page unlocks it, and its token is removed.
    await page.evaluate((token) => (location.hash = `token=${token}&/runs`), working);
    await page.locator("h1", { hasText: "Runs" }).waitFor();
    assert.equal(new URL(page.url()).hash, "#/runs");
    // A planted link does not replace the token, neither at once nor at the next load.
    await page.evaluate(() => (location.hash = "token=planted&/feed"));
    await page.locator("h1", { hasText: "Requests" }).waitFor();
    assert.equal(new URL(page.url()).hash, "#/feed");
    await page.reload();
    await page.locator(".server.up").waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.getItem("foxwedge.token")), working);
  });
});

test("a run with parallel calls is shown from start to end", async () => {
  await withPage("/runs", async (page) => {
    const { run, finish } = await gateway.waiting("one");
    await page.locator(`a[href="#/runs/${run}"] [data-open="2"]`).waitFor();
    await page.locator(`a[href="#/runs/${run}"]`).click();
    await page.locator('[data-outcome="open"]').waitFor();
    await page.locator("[data-call]").nth(1).waitFor();
    assert.equal((await statuses(page)).length, 2);
    assert.equal(await page.locator("[aria-busy=true]").count(), 1);
    await finish();
    await page.locator('.page-head [data-outcome="completed"]').waitFor();
    assert.deepEqual(await statuses(page), ["succeeded", "succeeded"]);
    assert.equal(await page.locator(".pulse").count(), 0);
    assert.equal(await page.locator("[aria-busy=true]").count(), 0);
    await page.getByRole("tab", { name: /Output/ }).click();
    await page.getByText("The tools said").waitFor();
    await page.getByRole("tab", { name: /Events/ }).click();
    await page.getByRole("button", { name: "AG-UI" }).click();
    await page.getByText("RUN_FINISHED").first().waitFor();
  });
});

test("a run that is stopped during a tool call settles every badge, and ends once", async () => {
  const { run } = await gateway.waiting("two");
  await withPage(`/runs/${run}`, async (page) => {
    await page.locator("[data-call]").nth(1).waitFor();
    await page.evaluate(() => {
      window.ends = [];
      const status = document.querySelector('.unseen [role="status"]');
      new MutationObserver(() => window.ends.push(status.textContent)).observe(status, {
        childList: true,
        characterData: true,
        subtree: true,
      });
    });
    const stop = page.getByRole("button", { name: "Stop" });
    await stop.click();
    await page.getByRole("button", { name: "Click again to stop" }).waitFor();
    assert.equal(await page.locator('[data-outcome="open"]').count(), 1, "one click does nothing");
    await page.getByRole("button", { name: "Click again to stop" }).click();
    await page.locator('.page-head [data-outcome="stopped"]').waitFor();
    const open = ["unknown", "pending", "awaiting_approval", "running"];
    for (const status of await statuses(page)) assert.ok(!open.includes(status), status);
    assert.equal(await page.locator(".pulse").count(), 0);
    assert.equal(await stop.count(), 0);
    await page.getByText("The run ended: stopped").waitFor({ state: "attached" });
    const ends = await page.evaluate(() => window.ends.filter((text) => text !== ""));
    assert.deepEqual(ends, ["The run ended: stopped"]);
  });
});

test("a gateway crash is shown as a lost connection, then as an interrupted run", async () => {
  const { run } = await gateway.waiting("three");
  await withPage(`/runs/${run}`, async (page) => {
    await page.locator("[data-call]").nth(1).waitFor();
    await gateway.kill();
    await page.locator('[data-line="lost"]').waitFor();
    await page.getByText(/Disconnected since/).waitFor();
    assert.equal(await page.locator(".pulse").count(), 0, "nothing is animated while disconnected");
    await gateway.run();
    await page.locator('.page-head [data-outcome="interrupted"]').waitFor({ timeout: 60_000 });
    assert.equal(await page.locator('[data-line="lost"]').count(), 0);
    assert.equal(await page.locator(".pulse").count(), 0);
    for (const status of await statuses(page))
      assert.ok(["cancelled", "interrupted"].includes(status), status);
  });
});

test("an approval request of an agent is answered in the console", async () => {
  const messages = [{ role: "user", content: "hello" }];
  const response = gateway.request("v1/chat/completions", { model: "claude-code", messages });
  await withPage("/runs?state=open", async (page) => {
    await page
      .locator(".row", { hasText: "claude-code" })
      .locator('[data-status="awaiting_approval"]')
      .waitFor();
    await page.locator(".row", { hasText: "claude-code" }).click();
    await page.getByRole("region", { name: "The agent needs your input" }).waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.locator('.page-head [data-outcome="completed"]').waitFor();
    assert.equal(await page.getByRole("region", { name: "The agent needs your input" }).count(), 0);
  });
  await response;
});

test("an invalid session is listed, opened, repaired and restored", async () => {
  const file = join(gateway.folder, `${ID}.jsonl`);
  const broken = readFileSync(file, "utf8");
  await withPage("/sessions", async (page) => {
    const row = page.locator(".row", { hasText: "SCENARIO:mcp3" });
    await row.locator('[data-health="needs-repair"]').waitFor();
    await row.click();
    await page.locator('[data-pair="open"]').nth(1).waitFor();
    assert.equal(await page.locator('[data-pair="answered"]').count(), 1);
    await page.getByText("FW101").first().waitFor();
    await page.getByRole("link", { name: "Repair…" }).click();
    await page.locator('[data-edit="answered"]').nth(1).waitFor();
    await page.getByText("may have run").first().waitFor();
    await page.getByRole("button", { name: /Apply 2 edits/ }).click();
    assert.equal(readFileSync(file, "utf8"), broken, "one click writes nothing");
    await page.getByRole("button", { name: /Click again to write/ }).click();
    await page.getByText("2 edits were made").first().waitFor();
    assert.notEqual(readFileSync(file, "utf8"), broken);
    await page.getByRole("link", { name: "See the session" }).click();
    await page.locator('.page-head [data-health="ok"]').waitFor();
    await page.getByRole("button", { name: "Undo the repair" }).click();
    await page.getByRole("button", { name: /Click again to restore/ }).click();
    await page.locator('.page-head [data-health="needs-repair"]').waitFor();
    assert.equal(readFileSync(file, "utf8"), broken);
  });
});

test("the page of a rule is in the language of the console", async () => {
  await withPage("/rules/FW101", async (page) => {
    await page.getByRole("heading", { name: "What repair does" }).waitFor();
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("heading", { name: "如何修复" }).waitFor();
    await page.getByText("工具调用没有结果").first().waitFor();
    await page.getByRole("button", { name: "English" }).click();
    await page.getByRole("heading", { name: "What repair does" }).waitFor();
  });
});

test("what a conversion lost is told in the language of the console", async () => {
  const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
  await gateway.request("v1/chat/completions", {
    model: "converted",
    seed: 7,
    messages: [
      { role: "user", content: "hello" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "user", content: "go on" },
    ],
  });
  await withPage("/feed", async (page) => {
    await page.locator(".row", { hasText: "converted" }).first().click();
    await page.getByRole("link", { name: "Before and after" }).click();
    const attached = { state: "attached" };
    await page.getByText("`seed` is not supported in this format").waitFor(attached);
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByText("此格式不支持 `seed`").waitFor(attached);
  });
});

test("new requests appear live, with their findings", async () => {
  await withPage("/feed", async (page) => {
    await page.getByText("New requests appear as they arrive").waitFor();
    const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
    await gateway.chat([
      { role: "user", content: "hello" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "user", content: "go on" },
    ]);
    const row = page.locator(".row", { hasText: "repaired" }).first();
    await row.getByText("FW101").waitFor();
    await row.click();
    await page.getByText("What the repair does").waitFor();
    await page.getByRole("link", { name: "Before and after" }).click();
    await page.getByText("Request as received").first().waitFor();
    await page.locator('.side.plus').getByText("Tool result").waitFor();
    await page.getByRole("link", { name: "Metrics" }).click();
    await page.getByText("Findings by rule").waitFor();
    await page.getByRole("button", { name: "Numbers" }).first().click();
    await page.getByRole("columnheader", { name: "FW101" }).waitFor();
  });
});
