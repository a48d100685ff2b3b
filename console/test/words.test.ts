import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { STATUSES } from "../src/run.js";
import { language } from "../src/settings.js";
import { ago, bytes, span, t } from "../src/words.js";
import { en, zh } from "../src/words/tables.js";

const placeholders = (text: string) =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("both languages have the same keys and placeholders", () => {
  assert.deepEqual(Object.keys(zh), Object.keys(en));
  for (const [word, text] of Object.entries(en)) {
    const other = (zh as Readonly<Record<string, string>>)[word] ?? "";
    assert.deepEqual(placeholders(other), placeholders(text), word);
    assert.notEqual(other.trim(), "", word);
  }
});

test("every status has a text, and every text is used", () => {
  for (const status of STATUSES) assert.ok(Object.hasOwn(en, `status.${status}`), status);
  const sources =
    process.env.FOXWEDGE_CONSOLE ?? new URL("../../../src/", import.meta.url).pathname;
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" });
  const code = files
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith("words/"))
    .map((name) => readFileSync(`${sources}/${name}`, "utf8"))
    .join("\n");
  const prefixes = [...code.matchAll(/labelOf\("([\w.]+)"/g)].map(
    ([, prefix]) => `${prefix ?? ""}.`,
  );
  for (const word of Object.keys(en)) {
    const isUsed = code.includes(`"${word}"`) || prefixes.some((prefix) => word.startsWith(prefix));
    assert.ok(isUsed, `${word} is not used`);
  }
});

test("values replace their placeholders", () => {
  language.value = "en";
  assert.equal(t("repair.gap", { n: 12_345 }), "12,345 messages stay as they are");
  language.value = "zh";
  assert.equal(t("repair.gap", { n: 2 }), "2 条消息保持不变");
  language.value = "en";
  assert.equal(t("announce.tool", { tool: "{status}", status: "x" }), "{status}: x");
});

test("sizes and times are formatted", () => {
  assert.deepEqual([0, 999, 48_113, 50_000_000].map(bytes), ["0 B", "999 B", "48.1 kB", "50.0 MB"]);
  assert.deepEqual([0, 340, 1_200, 200_000, 7_300_000, -1].map(span), [
    "0 ms",
    "340 ms",
    "1.2 s",
    "3 min 20 s",
    "2 h 1 min",
    "–",
  ]);
  assert.equal(ago(1_000, 2_000), "just now");
  assert.equal(ago(0, 180_000), "3m ago");
});
