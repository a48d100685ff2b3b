/** The page in front of a made-up gateway: what no real one would say, and more than one would. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { launch, openPage } from "./parts/browser.mjs";
import { runEvents } from "./parts/data.mjs";
import { startMade } from "./parts/made.mjs";
import { json, sse } from "./parts/site.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const PAGES = [
  ["#/sessions", "Sessions"],
  ["#/sessions/f-0001", "fix the parser"],
  ["#/sessions/f-0001?tab=findings", "never answered"],
  ["#/sessions/f-0001?tab=tree", "on the path"],
  ["#/sessions/f-0001?tab=cut", "Naive cut"],
  ["#/sessions/f-0001?tab=raw", "parentUuid"],
  ["#/sessions/f-0001/repair", "unanswered-call"],
  ["#/sessions/s-9c01", "Its requests"],
  ["#/runs", "at work"],
  ["#/runs/run-1?call=1+c3", "cargo test"],
  ["#/runs/run-open", "May Bash"],
  ["#/runs/run-1?tab=said", "I look at the lexer"],
  ["#/runs/run-1?tab=tasks", "Keep empty lines"],
  ["#/runs/run-1?tab=events", "run-started"],
  ["#/runs/run-1?tab=more", "Events taken"],
  ["#/feed?id=q-1000000", "What was changed"],
  ["#/compaction", "Naive cut"],
  ["#/metrics", "Findings by rule"],
  ["#/rules/FW101", "recover"],
];

let browser;

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
});

async function seen(site, options, look) {
  const { page, context, troubles } = await openPage(browser, { locale: "en-US", ...options });
  try {
    await look(page);
    assert.deepEqual(troubles, []);
  } finally {
    await context.close();
    await site.close();
  }
}

/** Goes somewhere, and waits until it is there. */
async function visit(page, site, hash, words) {
  await page.goto(`${site.url}${hash}`);
  await page.getByText(words).first().waitFor();
}

const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

test("500 shuffled, repeated and late events: nothing moves behind the end", async () => {
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
    for (let piece = 0; piece < 6; piece += 1)
      events.push({ type: "text", messageId: `m${at}`, delta: `word ` });
    const status = ["succeeded", "failed", "denied"][at % 3];
    if (at % 10 !== 9)
      events.push({
        type: "tool-result",
        toolCallId: `c${at}`,
        turn: 1,
        status,
        content: `said ${at}`,
      });
  }
  events.push({ type: "run-ended", reason: "completed" });
  const log = events.map((event, at) =>
    JSON.stringify({ ...event, runId: "run-1", epoch: 1, seq: at + 1, at: 1_000_000 + at }),
  );
  let late;
  const site = await startMade({
    events: ({ reply }) => {
      const send = sse(reply);
      const doubled = shuffled([...log, ...log.slice(0, 70)]);
      assert.ok(doubled.length >= 500, `${doubled.length} events`);
      doubled.forEach((line, at) => send(`${at + 1}.1`, line));
      late = () =>
        shuffled(log).forEach((line, at) => {
          const changed = { ...JSON.parse(line), seq: 10_000 + at };
          if (changed.type === "tool-result") changed.status = "succeeded";
          if (changed.type === "run-ended") changed.reason = "failed";
          send(`${10_000 + at}.1`, JSON.stringify(changed));
        });
    },
  });
  await seen(site, {}, async (page) => {
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
    late();
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

test("a lost connection is told, and goes on behind the last event", async () => {
  const all = runEvents("run-1", { ended: true });
  const asked = [];
  let isUp = true;
  let cut;
  const site = await startMade({
    events: ({ request, reply }) => {
      asked.push(request.headers["last-event-id"]);
      if (!isUp) return json(reply, 503, { error: { message: "away", code: "away" } });
      const send = sse(reply);
      const from = Number(asked.at(-1)?.split(".")[0] ?? 0);
      const until = from === 0 ? 25 : all.length;
      for (const event of all.slice(from, until)) send(`${event.seq}.1`, JSON.stringify(event));
      cut = () => reply.destroy();
      if (until === all.length) reply.end();
      return undefined;
    },
  });
  await seen(site, {}, async (page) => {
    await page.goto(`${site.url}#/runs/run-1`);
    await page.locator('[data-call="c8"] [data-status="running"]').waitFor();
    assert.ok((await page.locator(".pulse").count()) > 0);
    isUp = false;
    cut();
    await page.locator('[data-line="lost"]').waitFor();
    assert.equal(await page.locator(".pulse").count(), 0, "nobody knows whether anything moves");
    assert.equal(await page.locator('[data-call="c8"] [data-status="running"]').count(), 1);
    isUp = true;
    await page.locator('.page-head [data-outcome="stopped"]').waitFor();
    assert.equal(await page.locator('[data-line="lost"]').count(), 0);
    assert.equal(asked[0], undefined);
    assert.equal(asked.at(-1), "25.1");
    assert.equal(await page.locator('[data-call="c8"] [data-status="interrupted"]').count(), 1);
  });
});

test("everything can be reached with the keyboard", async () => {
  const site = await startMade();
  await seen(site, {}, async (page) => {
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
    await page.getByRole("tabpanel").getByText("is never answered").waitFor();

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

for (const theme of ["light", "dark"]) {
  test(`no page has a serious fault of access in the ${theme} theme`, async () => {
    const site = await startMade();
    await seen(site, { colorScheme: theme, reducedMotion: "reduce" }, async (page) => {
      for (const [hash, words] of PAGES) {
        await visit(page, site, hash, words);
        await page.evaluate(AXE);
        const found = await page.evaluate(async () => {
          const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
          return violations
            .filter(({ impact }) => impact === "serious" || impact === "critical")
            .map(
              ({ id, nodes }) =>
                `${id}: ${nodes
                  .slice(0, 3)
                  .map(({ html }) => html)
                  .join(" | ")}`,
            );
        });
        assert.deepEqual(found, [], hash);
        const running = await page.evaluate(() => document.getAnimations().length);
        assert.equal(running, 0, `${hash}: something moves`);
      }
    });
  });
}

test("the theme that was chosen stays", async () => {
  const site = await startMade();
  await seen(site, { colorScheme: "light" }, async (page) => {
    await visit(page, site, "#/sessions", "fix the parser");
    const paper = () =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await paper();
    await page.getByRole("button", { name: "System" }).click();
    await page.getByRole("button", { name: "Light" }).click();
    await page.getByRole("button", { name: "Dark" }).waitFor();
    assert.notEqual(await paper(), light);
    await page.reload();
    await page.getByRole("button", { name: "Dark" }).waitFor();
    assert.notEqual(await paper(), light);
  });
});

test("every page speaks both languages, and remembers which", async () => {
  const site = await startMade();
  await seen(site, {}, async (page) => {
    await visit(page, site, "#/sessions", "fix the parser");
    await page.getByRole("button", { name: "中文" }).click();
    await page.getByRole("heading", { name: "会话" }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), "zh-CN");
    for (const [hash, title] of [
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
  const other = await startMade();
  await seen(other, { locale: "zh-CN" }, async (page) => {
    await page.goto(`${other.url}#/sessions`);
    await page.getByRole("heading", { name: "会话" }).waitFor();
  });
});

test("markup in a text is a text", async () => {
  const evil = (words) =>
    `${words}<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>"'\u202e&lt;b&gt;`;
  const site = await startMade({ hostile: evil });
  await seen(site, {}, async (page) => {
    for (const [hash, words] of PAGES) {
      await page.goto(`${site.url}${hash}`);
      await page.getByText(words).first().waitFor({ state: "attached" });
      await page.waitForTimeout(150);
      const strange = await page.evaluate(
        () =>
          document.querySelectorAll('img:not([src="/ui/icon.svg"]), #app script, [onerror], iframe')
            .length,
      );
      assert.equal(strange, 0, hash);
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

test("a run of 100 000 events stays small", async () => {
  const calls = 20_000;
  const site = await startMade({
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
  await seen(site, {}, async (page) => {
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
    await page.getByRole("tab", { name: /Said/ }).click();
    await page.locator(".said").first().waitFor();
    assert.ok((await nodes(page)) < 3_000, `${await nodes(page)} nodes`);
    const said = await page.locator('.unseen [role="log"] > div').count();
    assert.ok(said <= 12, `${said} announcements`);
  });
});

test("a session of 100 000 messages stays small", async () => {
  const site = await startMade({
    messages: 100_000,
    hostile: (words) => `${words} ${"long ".repeat(100)}`,
  });
  await seen(site, {}, async (page) => {
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
        const seen = [...document.querySelectorAll(".slot")].filter((slot) => {
          const { top, bottom } = slot.getBoundingClientRect();
          return bottom > list.top && top < list.bottom;
        });
        return seen.length > 0 && seen.every((slot) => slot.querySelector(".coming") === null);
      });
      assert.ok((await nodes(page)) < 3_000, `${await nodes(page)} nodes`);
    }
    await visit(page, site, "#/sessions/f-0001?at=54321", "#54321");
    await page.locator('[data-message="54321"].marked').waitFor();
    assert.ok(site.asked.length < 200, `${site.asked.length} requests`);
  });
});

test("a link leads to what it names", async () => {
  const site = await startMade();
  await seen(site, {}, async (page) => {
    await visit(page, site, "#/sessions/f-0001?at=5", "call `toolu_5b` is never answered");
    assert.equal(await page.locator('[data-message="5"].marked').count(), 1);
    await page.goto(`${site.url}#/nowhere`);
    await page.getByText("There is no such page").waitFor();
  });
});

/** The same disorder every time. */
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
