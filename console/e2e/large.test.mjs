/** Opens a session file of 50 MB in the console. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { launch, openPage } from "./parts/browser.mjs";
import { Gateway } from "./parts/serve.mjs";

const ID = "33333333-c3b2-4b68-824c-244ec5e45f31";
const RECORDS = 30_000;

/** A file as Claude Code writes it: text, tool calls, long tool results. */
function large() {
  const lines = [];
  for (let at = 0; at < RECORDS; at += 1) {
    const uuid = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    const message = messageAt(at);
    lines.push(
      JSON.stringify({
        parentUuid: at === 0 ? null : uuid(at - 1),
        isSidechain: false,
        cwd: "/srv/large",
        sessionId: ID,
        version: "2.1.325",
        type: message.role,
        message,
        uuid: uuid(at),
        timestamp: new Date(1_700_000_000_000 + at * 1_000).toISOString(),
      }),
    );
  }
  return `${lines.join("\n")}\n`;
}

function messageAt(at) {
  const assistant = (block) => ({
    role: "assistant",
    id: `msg_${at}`,
    type: "message",
    content: [block],
  });
  switch (at % 4) {
    case 0:
      return { role: "user", content: `step ${at} ${"word ".repeat(120)}` };
    case 1:
      return assistant({
        type: "tool_use",
        id: `toolu_${at}`,
        name: "Bash",
        input: { command: `ls ${at}` },
      });
    case 2:
      return {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: `toolu_${at - 1}`, content: "out ".repeat(1_200) },
        ],
      };
    default:
      return assistant({ type: "text", text: `done ${at}` });
  }
}

test("a session of 50 MB opens, and its start and end can be read", async () => {
  const text = large();
  assert.ok(text.length > 50_000_000, `${text.length} bytes`);
  const gateway = await Gateway.start({ sessions: { [`${ID}.jsonl`]: text } });
  const browser = await launch();
  try {
    const { page, errors } = await openPage(browser, { locale: "en-US" });
    page.setDefaultTimeout(120_000);
    const assertSmall = async () => {
      const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
      assert.ok(nodes < 3_000, `${nodes} nodes`);
    };
    await page.goto(gateway.page("/sessions"));
    await page.locator('.row [data-health="ok"]').waitFor();
    await page.locator(".row").first().click();
    await page.locator('[data-message="0"]').waitFor();
    await assertSmall();
    await page.locator('[data-message="0"]').focus();
    await page.keyboard.press("End");
    await page.locator(`[data-message="${RECORDS - 1}"]`).waitFor();
    await assertSmall();
    await page.getByRole("tab", { name: /Records/ }).click();
    await page.getByRole("list", { name: "Records" }).waitFor();
    await assertSmall();
    await page.getByRole("tab", { name: /Branches/ }).click();
    await page.getByRole("treeitem").first().waitFor();
    await assertSmall();
    assert.deepEqual(errors, []);
  } finally {
    await browser.close();
    await gateway.close();
  }
});
