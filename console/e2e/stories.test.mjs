/** Stories of the console: start page, repair of several sessions, chat. With a real gateway. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { launch, openPage } from "./parts/browser.mjs";
import { startFakeGateway } from "./parts/made.mjs";
import { Gateway, fixtures } from "./parts/serve.mjs";

const BROKEN = "sdk-mcp-kill9.after-kill.jsonl";
const ID = "02875600-5448-4024-b80c-0014fb984e0b";
const IDS = [ID, ID.replace(/.$/, "c"), ID.replace(/.$/, "d")];

const agent = (name, quirk) => `
[[upstream]]
name = "${name}"
kind = "claude-code"
command = [${JSON.stringify(process.env.FOXWEDGE_SCRIPTED_AGENT ?? "")}, "--fake", "${quirk}"]
ask_user = true
bare = false

[[route]]
model = "${name}"
upstream = "${name}"
`;

const CONFIG = `
[[upstream]]
name = "scripted"
kind = "scripted"

[[route]]
model = "scripted"
upstream = "scripted"

[[route]]
model = "*"
upstream = "scripted"

[[route]]
model = "strict*"
upstream = "scripted"
mode = "strict"
${agent("permission", "permission")}
${agent("question", "ask")}
`;

let browser;
let gateway;

before(async () => {
  const text = readFileSync(join(fixtures(), "sessions/claude-code/2.1.325", BROKEN), "utf8")
    // All tested versions continue with open calls; this version is older.
    .replaceAll("2.1.325", "1.0.99");
  const sessions = Object.fromEntries(
    IDS.map((id) => [`${id}.jsonl`, text.replaceAll(ID, id)]),
  );
  gateway = await Gateway.start({ sessions, config: CONFIG });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await gateway?.close();
});

/** Opens a route and runs the test with the page. Page errors fail the test. */
async function withPage(hash, run, site) {
  const { page, context, errors } = await openPage(browser, { locale: "en-US" });
  try {
    await page.goto(site === undefined ? gateway.page(hash) : `${site.url}#${hash}`);
    await run(page, context);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
    await site?.close?.();
  }
}

async function say(page, model, text) {
  await page.getByLabel("Model").fill(model);
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.keyboard.press("Enter");
}

const statuses = (page) =>
  page
    .locator(".fw-tool [data-status]")
    .evaluateAll((all) => all.map((one) => one.dataset.status));

test("the start page leads from what needs attention to its repair", async () => {
  const broken = {
    model: "strict",
    messages: [
      { role: "user", content: "hello" },
      { role: "tool", tool_call_id: "call_9", content: "nobody asked" },
    ],
  };
  await assert.rejects(gateway.request("v1/chat/completions", broken), /400/);
  const waiting = gateway
    .request("v1/chat/completions", {
      model: "permission",
      messages: [{ role: "user", content: "hello" }],
    })
    .catch(() => undefined);
  await withPage("/", async (page) => {
    await page.locator('[data-attention="5"]').waitFor();
    assert.match(await page.title(), /^Start · Foxwedge$/);
    const block = (name) => page.getByRole("region", { name });
    await block("Requests that were rejected or failed").getByText("rejected 400").waitFor();
    await block("Requests that were rejected or failed").getByRole("link", { name: "Open" }).click();
    await page.getByText("this route refuses it").first().waitFor();
    await page.goBack();
    await block("Runs waiting for an answer").getByRole("link", { name: "Answer" }).click();
    await page.getByRole("button", { name: "Deny" }).click();
    await page.locator('.page-head [data-outcome="completed"]').waitFor();
    await page.getByRole("link", { name: "Start" }).click();
    await page.locator('[data-attention="4"]').waitFor();
    await block("Sessions that need repair").getByRole("link", { name: "Repair…" }).first().click();
    await page.getByRole("button", { name: /Apply 2 edits/ }).waitFor();
  });
  await waiting;
});

test("several sessions are selected, repaired with one confirmation, and undone", async () => {
  const files = IDS.map((id) => join(gateway.folder, `${id}.jsonl`));
  const before = files.map((file) => readFileSync(file, "utf8"));
  await withPage("/sessions", async (page) => {
    await page.getByLabel("Select all 3 sessions that can be repaired").check();
    await page.getByLabel(/^Select: /).first().uncheck();
    await page.getByRole("link", { name: "Repair 2 sessions…" }).click();
    await page.getByText("2 sessions can be repaired").waitFor();
    await page.getByRole("button", { name: "Repair 2 sessions" }).click();
    await page.getByRole("button", { name: "Click again to write 2 files" }).waitFor();
    assert.deepEqual(
      files.map((file) => readFileSync(file, "utf8")),
      before,
      "one click writes nothing",
    );
    await page.getByRole("button", { name: "Click again to write 2 files" }).click();
    await page.locator('[data-repair="done"] [data-health="ok"]').nth(1).waitFor();
    const command = await page.locator(".command code").first().innerText();
    assert.match(command, /claude --resume 02875600-/);
    const changed = files.filter((file, at) => readFileSync(file, "utf8") !== before[at]);
    assert.equal(changed.length, 2);
    for (let left = 2; left > 0; left -= 1) {
      await page.getByRole("button", { name: "Undo the repair" }).first().click();
      await page.getByRole("button", { name: /Click again to restore/ }).click();
      await page.locator('[data-repair="planned"]').nth(2 - left).waitFor();
    }
    assert.deepEqual(
      files.map((file) => readFileSync(file, "utf8")),
      before,
    );
  });
});

test("sessions are sorted by a column, and those that need repair are first otherwise", async () => {
  const site = await startFakeGateway();
  await withPage(
    "/sessions",
    async (page) => {
      const sizes = () => page.locator(".row.sessions-grid > :nth-child(7)").allInnerTexts();
      const first = () => page.locator(".row [data-health]").first().getAttribute("data-health");
      assert.equal(await first(), "needs-repair");
      await page.getByRole("button", { name: "Size" }).click();
      assert.equal((await sizes())[0], "5.2 MB");
      await page.getByRole("button", { name: /Size/ }).click();
      assert.equal((await sizes())[0], "–");
      await page.getByRole("button", { name: /Size/ }).click();
      assert.equal(await first(), "needs-repair");
      await page.getByRole("combobox", { name: "Agent" }).selectOption("codex");
      assert.match(page.url(), /agent=codex/);
    },
    site,
  );
});

test("a new tab gets the token of an open one", async () => {
  await withPage("/runs", async (page, context) => {
    await page.locator("h1", { hasText: "Runs" }).waitFor();
    await page.locator(".server.up").waitFor();
    const other = await context.newPage();
    await other.goto(`${gateway.url}#/sessions`);
    await other.getByText("SCENARIO:mcp3").first().waitFor();
    assert.equal(await other.getByText("This gateway requires a token").count(), 0);
  });
  await withPage("", (page) => page.getByText("~/.config/foxwedge/token").waitFor(), {
    url: gateway.url,
  });
});

test("a chat with a model is streamed, continues, and can be tried again", async () => {
  await withPage("/chat", async (page) => {
    await say(page, "scripted", "hello **there**");
    await page.locator(".fw-markdown", { hasText: "You said: hello there" }).waitFor();
    await page.locator(".fw-markdown b", { hasText: "there" }).waitFor();
    await page.locator('[data-outcome="completed"]').waitFor();
    await say(page, "scripted", "think about it");
    await page.locator(".fw-thought").waitFor();
    await page.locator('[data-outcome="completed"]').nth(1).waitFor();
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.locator(".fw-turn").nth(1).waitFor({ state: "detached" });
    await page.locator('[data-outcome="completed"]').waitFor();
    await page.getByRole("link", { name: "Open the run" }).click();
    await page.getByRole("tab", { name: /Output/, selected: true }).waitFor();
    await page.goBack();
    await page.locator(".fw-markdown", { hasText: "You said: hello there" }).waitFor();
    await say(page, "scripted?status=400", "hello");
    await page.locator(".fw-note.fw-bad").waitFor();
    await page.getByRole("button", { name: "New chat" }).click();
    await page.getByText("Talk to a model or an agent").waitFor();
  });
});

test("a reply continues when the page is loaded again", async () => {
  await withPage("/chat", async (page) => {
    await say(page, "scripted?pace=150", "one two three four five six seven eight");
    await page.locator(".fw-markdown", { hasText: "one" }).waitFor();
    await page.reload();
    await page.locator('[data-outcome="completed"]').waitFor();
    const text = await page.locator(".fw-markdown").innerText();
    assert.equal(text, "You said: one two three four five six seven eight");
    // The history of the next request has the whole reply.
    await say(page, "scripted", "and now");
    await page.locator(".fw-markdown", { hasText: "You said: and now" }).waitFor();
  });
});

test("a model that a person is about to type is not filled in, the first one is once they leave the field", async () => {
  await withPage("/chat", async (page) => {
    let answer;
    const asked = new Promise((done) => {
      void page.route("**/v1/models", (route) => {
        answer = () => route.continue();
        done();
      });
    });
    await page.reload();
    await asked;
    const field = page.getByLabel("Model");
    await field.focus();
    await answer();
    await page.locator("datalist#models option").first().waitFor({ state: "attached" });
    await page.keyboard.type("permission");
    assert.equal(await field.inputValue(), "permission");
    await field.fill("");
    await page.getByRole("textbox", { name: "Message" }).focus();
    await page.waitForFunction(() => document.querySelector(".model.field")?.value !== "");
  });
});

test("a permission is denied, and a question is answered in the chat", async () => {
  await withPage("/chat", async (page) => {
    await say(page, "permission", "hello");
    await page.locator('.fw-tool [data-status="awaiting_approval"]').waitFor();
    await page.getByLabel("Reason for denying (optional)").fill("not now");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.locator('[data-outcome="completed"]').waitFor();
    assert.deepEqual(await statuses(page), ["denied"]);
    await page.getByRole("button", { name: "New chat" }).click();
    await say(page, "question", "hello");
    await page.getByLabel("Red").check();
    await page.getByRole("button", { name: "Answer" }).click();
    await page.locator('[data-outcome="completed"]').waitFor();
    assert.deepEqual(await statuses(page), ["succeeded"]);
  });
});

test("a chat that is stopped during a tool call settles every card", async () => {
  await withPage("/chat", async (page) => {
    await say(page, "permission", "hello");
    await page.locator('.fw-tool [data-status="awaiting_approval"]').waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator('[data-outcome="stopped"]').waitFor();
    const open = ["unknown", "pending", "awaiting_approval", "running"];
    for (const status of await statuses(page)) assert.ok(!open.includes(status), status);
    assert.equal(await page.getByRole("region", { name: "The agent needs your input" }).count(), 0);
    assert.equal(await page.locator(".fw-pulse").count(), 0);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.locator('[data-outcome="completed"]').waitFor();
  });
});

test("a tool that was running when the chat was stopped may have run", async () => {
  const site = await startFakeGateway();
  await withPage(
    "/chat",
    async (page) => {
      await say(page, "claude-code", "look");
      await page.locator('[data-call="c2"] [data-status="running"]').waitFor();
      const parts = await page
        .locator(".fw-reply > *")
        .evaluateAll((all) => all.slice(1).map((one) => one.className));
      assert.deepEqual(parts, ["fw-thought", "fw-markdown", "fw-tool", "fw-tool"]);
      await page.getByText("Running the tests").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.locator('[data-outcome="stopped"]').waitFor();
      assert.deepEqual(await statuses(page), ["succeeded", "interrupted"]);
      assert.equal(await page.locator(".fw-pulse").count(), 0);
      await page.locator('[data-call="c2"] summary').click();
      await page.getByText("It may have taken effect").waitFor();
    },
    site,
  );
});

test("a gateway that is away is shown, and the chat continues when it is back", async () => {
  await withPage("/chat", async (page) => {
    await say(page, "permission", "hello");
    await page.locator('.fw-tool [data-status="awaiting_approval"]').waitFor();
    await gateway.kill();
    await page.locator('[data-line="lost"]').waitFor();
    assert.equal(await page.locator(".fw-pulse").count(), 0);
    await gateway.run();
    await page.locator('[data-outcome="interrupted"]').waitFor({ timeout: 60_000 });
    assert.equal(await page.locator('[data-line="lost"]').count(), 0);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.locator('[data-outcome="completed"]').waitFor();
  });
});
