/** The console with a fake gateway: hostile, unusual and very large responses. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, openPage } from "./parts/browser.mjs";
import { runEvents } from "./parts/data.mjs";
import { startFakeGateway } from "./parts/made.mjs";
import { PAGES } from "./parts/pages.mjs";
import { json, sse } from "./parts/site.mjs";

let browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

async function withPage(site, options, run) {
  const { page, context, errors } = await openPage(browser, { locale: "en-US", ...options });
  try {
    await run(page);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
    await site.close();
  }
}

/** Opens a route and waits for a text on its page. */
async function visit(page, site, hash, text) {
  await page.goto(`${site.url}${hash}`);
  await page.getByText(text).first().waitFor();
}

const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

test("500 shuffled, repeated and late events: nothing changes after the end", async () => {
  const calls = 60;
  const events = [{ type: "run-started", agent: "x" }];
  for (let at = 0; at < calls; at += 1) {
    events.push({
      type: "tool-call",
      toolCallId: `c${at}`,
      turn: 1,
      name: `tool-${at}`,
      input: { at },
      status: "running",
    });
    for (let delta = 0; delta < 6; delta += 1)
      events.push({ type: "text", messageId: `m${at}`, delta: `word ` });
    const status = ["succeeded", "failed", "denied"][at % 3];
    if (at % 10 !== 9)
      events.push({
        type: "tool-result",
        toolCallId: `c${at}`,
        turn: 1,
        status,
        content: `result ${at}`,
      });
  }
  events.push({ type: "run-ended", reason: "completed" });
  const log = events.map((event, at) =>
    JSON.stringify({ ...event, runId: "run-1", epoch: 1, seq: at + 1, at: 1_000_000 + at }),
  );
  let sendLate;
  const site = await startFakeGateway({
    events: ({ reply }) => {
      const send = sse(reply);
      const doubled = shuffled([...log, ...log.slice(0, 70)]);
      assert.ok(doubled.length >= 500, `${doubled.length} events`);
      doubled.forEach((line, at) => send(`${at + 1}.1`, line));
      sendLate = () =>
        shuffled(log).forEach((line, at) => {
          const changed = { ...JSON.parse(line), seq: 10_000 + at };
          if (changed.type === "tool-result") changed.status = "succeeded";
          if (changed.type === "run-ended") changed.reason = "failed";
          send(`${10_000 + at}.1`, JSON.stringify(changed));
        });
    },
  });
  await withPage(site, {}, async (page) => {
    await page.goto(`${site.url}#/runs/run-1`);
    await page.locator('.page-head [data-outcome="completed"]').waitFor();
    const state = () =>
      page.evaluate(
        () =>
          document.querySelector(".figures").innerText +
          document.querySelector(".waterfall").innerText,
      );
    const settled = await state();
    assert.match(settled, /18 ?\n*done[^]*18 ?\n*failed[^]*18 ?\n*denied[^]*6 ?\n*may have run/);
    sendLate();
    await page.getByRole("tab", { name: "Details" }).click();
    await page
      .locator("dt", { hasText: "Too late" })
      .locator("xpath=following-sibling::dd[1]")
      .filter({ hasText: `${log.length}` })
      .waitFor();
    await page.getByRole("tab", { name: /Calls/ }).click();
    assert.equal(await state(), settled);
    assert.equal(await page.locator(".pulse").count(), 0);
    assert.equal(await page.locator('[data-outcome="completed"]').count(), 1);
  });
});

test("a lost connection is shown, and the stream resumes after the last event", async () => {
  const all = runEvents("run-1", { ended: true });
  const lastEventIds = [];
  let isUp = true;
  let disconnect;
  const site = await startFakeGateway({
    events: ({ request, reply }) => {
      lastEventIds.push(request.headers["last-event-id"]);
      if (!isUp) return json(reply, 503, { error: { message: "away", code: "away" } });
      const send = sse(reply);
      const from = Number(lastEventIds.at(-1)?.split(".")[0] ?? 0);
      const until = from === 0 ? 25 : all.length;
      for (const event of all.slice(from, until)) send(`${event.seq}.1`, JSON.stringify(event));
      disconnect = () => reply.destroy();
      if (until === all.length) reply.end();
      return undefined;
    },
  });
  await withPage(site, {}, async (page) => {
    await page.goto(`${site.url}#/runs/run-1`);
    await page.locator('[data-call="c8"] [data-status="running"]').waitFor();
    assert.ok((await page.locator(".pulse").count()) > 0);
    isUp = false;
    disconnect();
    await page.locator('[data-line="lost"]').waitFor();
    assert.equal(await page.locator(".pulse").count(), 0, "nothing is animated while disconnected");
    assert.equal(await page.locator('[data-call="c8"] [data-status="running"]').count(), 1);
    isUp = true;
    await page.locator('.page-head [data-outcome="stopped"]').waitFor();
    assert.equal(await page.locator('[data-line="lost"]').count(), 0);
    assert.equal(lastEventIds[0], undefined);
    assert.equal(lastEventIds.at(-1), "25.1");
    assert.equal(await page.locator('[data-call="c8"] [data-status="interrupted"]').count(), 1);
  });
});

test("everything can be reached with the keyboard", async () => {
  const site = await startFakeGateway();
  await withPage(site, {}, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    await visit(page, site, "#/sessions", "fix the parser");
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the content");
    await page.keyboard.press("/");
    await page.keyboard.type("import");
    await page.getByText("why does the import hang").first().waitFor();
    for (let at = 0; at < 30 && !(await focused()).includes("why does the import"); at += 1)
      await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-stop") !== null);
    const outline = await page.evaluate(
      () => getComputedStyle(document.activeElement).outlineStyle,
    );
    assert.equal(outline, "solid", "the focus can be seen");
    await page.keyboard.press("Enter");
    await page.getByRole("tab", { name: /Conversation/ }).waitFor();
    for (let at = 0; at < 30 && !(await focused()).startsWith("Conversation"); at += 1)
      await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("tabpanel").getByText("has no result").waitFor();

    await page.keyboard.press("Control+k");
    await page.keyboard.type("run-7f3a");
    await page
      .getByRole("option", { name: /run-7f3a/ })
      .first()
      .waitFor();
    await page.keyboard.press("Enter");
    await page.locator("[data-call]").first().waitFor();
    await page.locator('[data-call="c1"]').focus();
    for (const key of ["ArrowDown", "ArrowDown", "End", "Home", "ArrowDown", "ArrowDown"]) {
      await page.keyboard.press(key);
      await page.waitForTimeout(50);
    }
    await page.keyboard.press("Enter");
    await page.locator(".call-panel").getByText("cargo test --test lexer").waitFor();
    assert.match(page.url(), /call=1\+c3/);
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.waitForFunction(() => document.activeElement?.getAttribute("data-call") === "c3");
  });
});

test("the chosen theme is stored", async () => {
  const site = await startFakeGateway();
  await withPage(site, { colorScheme: "light" }, async (page) => {
    await visit(page, site, "#/sessions", "fix the parser");
    const background = () =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await background();
    await page.getByRole("button", { name: "System" }).click();
    await page.getByRole("button", { name: "Light" }).click();
    await page.getByRole("button", { name: "Dark" }).waitFor();
    assert.notEqual(await background(), light);
    await page.reload();
    await page.getByRole("button", { name: "Dark" }).waitFor();
    assert.notEqual(await background(), light);
  });
});

test("every page has both languages, and the choice is stored", async () => {
  const site = await startFakeGateway();
  await withPage(site, {}, async (page) => {
    await visit(page, site, "#/sessions", "fix the parser");
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("heading", { name: "会话" }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
    for (const [hash, title] of [
      ["#/start", "首页"],
      ["#/chat", "对话"],
      ["#/runs", "运行"],
      ["#/feed", "请求"],
      ["#/compaction", "压缩"],
      ["#/metrics", "指标"],
    ]) {
      await page.goto(`${site.url}${hash}`);
      await page.reload();
      await page.getByRole("heading", { name: title, exact: true }).waitFor();
    }
    await page.goto(`${site.url}#/runs/run-1`);
    await page.getByText("可能已执行").first().waitFor();
    await page.getByRole("button", { name: "English" }).click();
    await page.getByText("may have run").first().waitFor();
  });
  const other = await startFakeGateway();
  await withPage(other, { locale: "zh-CN" }, async (page) => {
    await page.goto(`${other.url}#/sessions`);
    await page.getByRole("heading", { name: "会话" }).waitFor();
  });
});

test("the page of an open run fits a phone however long the run lasts", async () => {
  const site = await startFakeGateway();
  const phone = { viewport: { width: 390, height: 844 }, locale: "zh-CN" };
  await withPage(site, phone, async (page) => {
    await page.clock.install();
    await page.goto(`${site.url}#/runs/run-open`);
    await page.locator("[data-call]").first().waitFor();
    const lengths = new Set();
    for (let step = 0; step < 60; step += 1) {
      await page.clock.fastForward(1_000 + 5_000 * step);
      const { cut, labels } = await page.evaluate(async () => {
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const { scrollWidth, clientWidth } = document.querySelector(".panel.fill");
        return { cut: scrollWidth - clientWidth, labels: document.querySelector(".axis").innerText };
      });
      assert.ok(cut <= 1, `${cut} px: ${labels}`);
      lengths.add(labels);
    }
    assert.ok(lengths.size > 5, [...lengths].join("; "));
  });
});

test("markup in a text is shown as text", async () => {
  const hostile = (text) =>
    `${text}<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>"'\u202e&lt;b&gt;`;
  const site = await startFakeGateway({ hostile });
  await withPage(site, {}, async (page) => {
    for (const { hash, text } of PAGES) {
      await page.goto(`${site.url}${hash}`);
      await page.getByText(text).first().waitFor({ state: "attached" });
      await page.waitForTimeout(150);
      const unexpected = await page.evaluate(
        () =>
          document.querySelectorAll('img:not([src="/ui/icon.svg"]), #app script, [onerror], iframe')
            .length,
      );
      assert.equal(unexpected, 0, hash);
      assert.equal(await page.evaluate(() => window.hurt), undefined, hash);
    }
    await page.goto(`${site.url}#/runs/run-1?tab=said`);
    await page.getByText('<img src=x onerror="window.hurt=1">').first().waitFor();
    for (const hash of [
      "#/sessions/%3Cimg%20src=x%20onerror=%22window.hurt=1%22%3E",
      "#/%3Cscript%3E",
      "#/runs/..%2F..%2Fx",
    ]) {
      await page.goto(`${site.url}${hash}`);
      await page.waitForTimeout(150);
      assert.equal(await page.evaluate(() => window.hurt), undefined, hash);
    }
  });
});

test("a run of 100 000 events renders few nodes", async () => {
  const calls = 20_000;
  const site = await startFakeGateway({
    events: ({ run, reply }) => {
      reply.writeHead(200, { "content-type": "text/event-stream" });
      let seq = 0;
      const lines = [];
      const add = (event) => {
        seq += 1;
        lines.push(
          `id: ${seq}.1\ndata: ${JSON.stringify({ ...event, runId: run, epoch: 1, seq, at: 1_000_000 + seq })}\n\n`,
        );
      };
      add({ type: "run-started", agent: "x" });
      for (let at = 0; at < calls; at += 1) {
        const turn = 1 + Math.floor(at / 10);
        add({
          type: "tool-call",
          toolCallId: `c${at}`,
          turn,
          name: "Bash",
          input: { command: `make ${at}` },
          status: "running",
        });
        add({ type: "tool-progress", toolCallId: `c${at}`, turn, content: "half" });
        add({ type: "text", messageId: `m${turn}`, delta: "word " });
        add({ type: "text", messageId: `m${turn}`, delta: "word " });
        add({
          type: "tool-result",
          toolCallId: `c${at}`,
          turn,
          status: "succeeded",
          content: "ok",
        });
      }
      add({ type: "run-ended", reason: "completed" });
      reply.end(lines.join(""));
    },
  });
  await withPage(site, {}, async (page) => {
    page.setDefaultTimeout(120_000);
    await page.goto(`${site.url}#/runs/run-1`);
    await page.locator('.page-head [data-outcome="completed"]').waitFor();
    assert.equal(
      await page
        .locator(".figure")
        .filter({ has: page.getByText("Calls", { exact: true }) })
        .locator("b")
        .first()
        .innerText(),
      "20,000",
    );
    assert.ok((await nodes(page)) < 3_000, `${await nodes(page)} nodes`);
    await page.locator("[data-call]").first().focus();
    await page.keyboard.press("End");
    await page.locator(`[data-call="c${calls - 1}"]`).waitFor();
    assert.ok((await nodes(page)) < 3_000, `${await nodes(page)} nodes`);
    await page.getByRole("tab", { name: /Events/ }).click();
    await page.getByText("100,002 events").waitFor();
    await page.getByRole("tab", { name: /Output/ }).click();
    await page.locator(".said").first().waitFor();
    assert.ok((await nodes(page)) < 3_000, `${await nodes(page)} nodes`);
    const announcements = await page.locator('.unseen [role="log"] > div').count();
    assert.ok(announcements <= 12, `${announcements} announcements`);
  });
});

test("a session of 100 000 messages renders few nodes", async () => {
  const site = await startFakeGateway({
    messages: 100_000,
    hostile: (text) => `${text} ${"long ".repeat(100)}`,
  });
  await withPage(site, {}, async (page) => {
    await visit(page, site, "#/sessions/f-0001", "The parser drops");
    await page.locator("article[data-message]").first().focus();
    await page.keyboard.press("End");
    await page.locator('[data-message="99999"]').waitFor();
    assert.ok((await nodes(page)) < 3_000, `${await nodes(page)} nodes`);
    for (const part of [0.2, 0.7, 0.4]) {
      await page
        .locator(".long")
        .first()
        .evaluate((list, part) => (list.scrollTop = list.scrollHeight * part), part);
      await page.waitForFunction(() => {
        const list = document.querySelector(".long").getBoundingClientRect();
        const visible = [...document.querySelectorAll(".slot")].filter((slot) => {
          const { top, bottom } = slot.getBoundingClientRect();
          return bottom > list.top && top < list.bottom;
        });
        const isLoaded = (slot) => slot.querySelector(".coming") === null;
        return visible.length > 0 && visible.every(isLoaded);
      });
      assert.ok((await nodes(page)) < 3_000, `${await nodes(page)} nodes`);
    }
    await visit(page, site, "#/sessions/f-0001?at=54321", "#54321");
    await page.locator('[data-message="54321"].marked').waitFor();
    assert.ok(site.requests.length < 200, `${site.requests.length} requests`);
  });
});

test("a link opens what it names", async () => {
  const site = await startFakeGateway();
  await withPage(site, {}, async (page) => {
    await visit(page, site, "#/sessions/f-0001?at=5", "call `toolu_5b` has no result");
    assert.equal(await page.locator('[data-message="5"].marked').count(), 1);
    await page.goto(`${site.url}#/nowhere`);
    await page.getByText("Page not found").waitFor();
  });
});

/** A deterministic shuffle. */
function shuffled(list) {
  const all = [...list];
  let state = 42;
  for (let at = all.length - 1; at > 0; at -= 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const other = state % (at + 1);
    [all[at], all[other]] = [all[other], all[at]];
  }
  return all;
}
