import assert from "node:assert/strict";
import { test } from "node:test";

import { takeToken } from "../src/data/link.js";
import { outcomeOf } from "../src/data/outcome.js";
import {
  isLocked,
  markAccepted,
  markRejected,
  offerToken,
  token,
  unlock,
} from "../src/data/token.js";

test("a token is removed from the address wherever it is", () => {
  const table: readonly (readonly [string, string, string])[] = [
    ["", "", ""],
    ["#/runs", "", "#/runs"],
    ["#/feed?q=token%3Dx", "", "#/feed?q=token%3Dx"],
    ["#token=fw_1", "fw_1", ""],
    ["#token=fw%5F1", "fw_1", ""],
    ["#token=", "", ""],
    ["#token=%zz", "", ""],
    ["#token=fw_1&/runs", "fw_1", "#/runs"],
    ["#/runs?token=fw_1", "fw_1", "#/runs"],
    ["#/runs?token=fw_1&q=a", "fw_1", "#/runs?q=a"],
    ["#/runs?q=a&token=fw_1", "fw_1", "#/runs?q=a"],
    ["#/runs?q=a&token=fw_1&token=fw_2&b=c", "fw_1", "#/runs?q=a&b=c"],
    ["#token=fw_1&token=fw_2", "fw_1", ""],
  ];
  for (const [hash, given, rest] of table) {
    assert.deepEqual(takeToken(hash), { token: given, hash: rest }, hash);
  }
});

test("the token of a link unlocks the page and never replaces a working token", async () => {
  unlock("");
  offerToken("first");
  assert.equal(token.value, "first");
  markAccepted();
  offerToken("planted");
  assert.equal(token.value, "first");
  markAccepted();
  markRejected();
  await new Promise((done) => setTimeout(done, 5));
  // A token that worked in the meantime discards the offered one.
  assert.deepEqual([token.value, isLocked.value], ["first", true]);
  offerToken("second");
  assert.deepEqual([token.value, isLocked.value], ["second", false]);
  // The current token is rejected: then the token of the link is used.
  offerToken("third");
  assert.equal(token.value, "second");
  markRejected();
  assert.equal(isLocked.value, true);
  await new Promise((done) => setTimeout(done, 5));
  assert.deepEqual([token.value, isLocked.value], ["third", false]);
});

test("only a success is shown as passed, and everything else shows its status code", () => {
  for (const action of ["none", "observed", "fixed", "failed", "rejected", "odd"]) {
    for (const status of [100, 200, 201, 299, 302, 400, 404, 429, 500, 503, 529]) {
      const { word, code, icon } = outcomeOf({ action, status });
      const isSuccess = status >= 200 && status < 300;
      assert.equal(code, isSuccess ? "" : String(status));
      assert.equal(word === "none" || icon === "check", isSuccess && action === "none");
    }
  }
  assert.equal(outcomeOf({ action: "rejected", status: 400 }).word, "rejected");
});
