import assert from "node:assert/strict";
import { test } from "node:test";

import { readEvent, writeEvent } from "../src/index.js";

/** An event in our own spelling; or why the line is not an event. */
function rewritten(line: string): string {
  const parsed = readEvent(line);
  return parsed.event === undefined ? parsed.why : writeEvent(parsed.event);
}

test("spellings of other agents are read", () => {
  const table: [string, string][] = [
    [
      '{"type":"agent:tool-call","runId":"r","id":"t1","name":"Bash","input":{"n": 1.50},"status":"executing"}',
      '{"type":"tool-call","runId":"r","toolCallId":"t1","toolId":"t1","name":"Bash","input":{"n": 1.50},"status":"running"}',
    ],
    [
      '{"type":"tool-call","runId":"r","tool_call_id":7,"arguments":"{\\"a\\": [1]}","requires_approval":true}',
      '{"type":"tool-call","runId":"r","toolCallId":"7","toolId":"7","input":{"a": [1]},"status":"awaiting_approval"}',
    ],
    [
      '{"type":"agent:tool-result","runId":"r","toolId":"t1","result":"no","isError":true,"reason":"timed_out"}',
      '{"type":"tool-result","runId":"r","toolCallId":"t1","toolId":"t1","status":"failed","isError":true,"reason":"timed_out","content":"no"}',
    ],
    [
      '{"type":"agent:message","runId":"r","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isComplete":true}',
      '{"type":"text","runId":"r","full":"a\\nb"}',
    ],
    [
      '{"type":"agent:thought","runId":"r","thought":{"id":"x","content":"hm"},"runEpoch":"3","timestamp":1e3}',
      '{"type":"thought","runId":"r","epoch":3,"at":1000,"messageId":"x","full":"hm"}',
    ],
    [
      '{"type":"usage","runId":"r","input_tokens":3,"output_tokens":"4","input_tokens_details":{"cached_tokens":2}}',
      '{"type":"usage","runId":"r","tokenUsage":{"input":3,"output":4,"cached":2,"reasoning":0}}',
    ],
    [
      '{"type":"agent:complete","runId":"r","reason":"error","error":{"message":"no","code":5},"finalContent":""}',
      '{"type":"run-ended","runId":"r","reason":"failed","finalContent":"","error":{"message":"no","code":"5","fatal":true}}',
    ],
  ];
  for (const [line, expected] of table) assert.equal(rewritten(line), expected, line);
});

test("unknown types and values are kept and reported", () => {
  const table: [string, string][] = [
    [
      '{"type":"agent:mode","runId":"r","mode":1}',
      '{"type":"unknown","runId":"r","kind":"agent:mode","raw":{"type":"agent:mode","runId":"r","mode":1}}',
    ],
    [
      '{"type":"tool-call","runId":"r","status":"flying"}',
      '{"type":"tool-call","runId":"r","status":"unknown","odd":"flying"}',
    ],
    [
      '{"type":"stop","runId":"r","grace":-1,"seq":0}',
      '{"type":"stop","runId":"r","grace":0,"odd":"grace -1"}',
    ],
    [
      '{"type":"text","runId":"r","words":"x"}',
      '{"type":"unknown","runId":"r","kind":"text","raw":{"type":"text","runId":"r","words":"x"},"odd":"text without delta"}',
    ],
    [
      '{"type":"stop","runId":"r","type":"text","delta":"last wins"}',
      '{"type":"text","runId":"r","delta":"last wins"}',
    ],
  ];
  for (const [line, expected] of table) {
    assert.equal(rewritten(line), expected, line);
    assert.equal(rewritten(expected), expected, "and again");
  }
});

test("a lone surrogate becomes U+FFFD, and payloads keep their spelling", () => {
  assert.equal(
    rewritten('{"type":"text","runId":"r","delta":"a\\ud83d"}'),
    '{"type":"text","runId":"r","delta":"a\ufffd"}',
  );
  const line =
    '{"type":"tool-progress","runId":"r","content":{"big":12345678901234567890,"half":"\\ud83d"}}';
  assert.equal(rewritten(line), line);
});

test("deep and unusual JSON is parsed correctly", () => {
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const line = `{"type":"tool-progress","runId":"r","content":${deep}}`;
  assert.equal(rewritten(line), line);
  assert.equal(
    rewritten('{"__proto__":{"runId":"x"},"constructor":1,"type":"stop","runId":"r"}'),
    '{"type":"stop","runId":"r","grace":0}',
  );
  assert.equal(
    rewritten(` { "type" :"stop" , "runId":"r\\"}" , "a":"\\\\" , "b" : [ "]" , "\\"" ] } `),
    '{"type":"stop","runId":"r\\"}","grace":0}',
  );
});
