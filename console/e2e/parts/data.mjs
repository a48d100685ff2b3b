/** The data of the fake gateway: enough to fill every page. */

const NOW = Date.now();
const MINUTE = 60_000;

export const ABOUT = {
  version: "0.1.0",
  scope: "admin",
  owner: "local",
  files: { enabled: true, why: null },
  content: "left",
  agents: ["claude-code", "codex", "gemini-cli", "neovate", "cline"],
  rules: [
    { code: "FW101", name: "unanswered-call", summary: "a tool call without a result" },
    { code: "FW102", name: "orphan-result", summary: "a tool result without a tool call" },
    { code: "FW103", name: "displaced-result", summary: "a tool result in the wrong place" },
  ],
  limits: { feed: 2000, minutes: 720 },
};

const TITLES = [
  [
    "needs-repair",
    "fix the parser so that empty lines survive",
    "/home/mo/parser",
    { FW101: 1, FW103: 2 },
    "claude-code",
  ],
  ["ok", "tide tables: high water is off by one", "/home/mo/tide", {}, "claude-code"],
  [
    "history-missing",
    "move the build to the new runner",
    "/home/mo/ci",
    { FW702: 3 },
    "claude-code",
  ],
  ["ok", "write the release notes", "/home/mo/parser", {}, "codex"],
  ["needs-repair", "why does the import hang on Windows?", "/home/mo/import", { FW101: 2 }, "neovate"],
  ["ok", "请把配置改成 TOML 格式", "/home/mo/config", {}, "claude-code"],
  ["unreadable", "—", "/home/mo/old", null, "gemini-cli"],
  ["ok", "add a test for the empty case", "/home/mo/parser", {}, "cline"],
];

export function sessionRows(count = 40) {
  const rows = [];
  for (let at = 0; at < count; at += 1) {
    const [health, title, project, findings, agent] = TITLES[at % TITLES.length];
    rows.push({
      source: "file",
      id: `f-${(at + 1).toString(16).padStart(4, "0")}`,
      session: `0a1b2c3d-${at}`,
      agent,
      product: agent,
      title,
      project,
      path: `~/.${agent}/projects/x/${at}.jsonl`,
      touched: NOW - at * at * 7 * MINUTE - 40_000,
      size: 1_000 * (at * 131 + 48),
      messages: findings === null ? null : 12 + at * 17,
      health,
      why: findings === null ? "the file cannot be read: Permission denied" : null,
      findings,
      repairable: true,
      live: at === 1,
      parent: null,
      sub_agents: at % 3,
    });
  }
  rows.splice(2, 0, {
    source: "gateway",
    id: "s-9c01",
    session: "s-9c01",
    agent: null,
    title: null,
    owner: "local",
    touched: NOW - 90_000,
    runs: 4,
    records: 12,
    health: "repaired",
    findings: { FW101: 2 },
    live: false,
  });
  return rows;
}

export function listed(url, rows) {
  const health = url.searchParams.get("health") ?? "";
  const search = (url.searchParams.get("q") ?? "").toLowerCase();
  const source = url.searchParams.get("source") ?? "";
  const matching = rows.filter(
    (row) =>
      (source === "" || row.source === source) &&
      `${row.title} ${row.project} ${row.id}`.toLowerCase().includes(search),
  );
  const counts = {};
  for (const row of matching) counts[row.health] = (counts[row.health] ?? 0) + 1;
  const data = matching.filter((row) => health === "" || health.split(",").includes(row.health));
  return {
    data,
    has_more: false,
    next: null,
    counts,
    files: ABOUT.files,
    scan: {
      state: "done",
      looked: rows.length,
      total: rows.length,
      began: NOW,
      ended: NOW,
      closed: [],
    },
  };
}

export function sessionView(row, messages) {
  return {
    ...row,
    version: "v1",
    started: "2026-01-01T10:00:00Z",
    updated: "2026-01-01T10:20:00Z",
    model: "claude-sonnet-4-5",
    agent_version: "2.1.0",
    format: "anthropic",
    profile: "anthropic",
    messages,
    records: messages + 9,
    torn: [],
    calls: { total: 90, answered: 88, elsewhere: 1, open: 1, duplicate: 0, orphan: 0 },
    resume: `claude --resume ${row.session}`,
    branches: { path: messages, branch: 4, side: 2, boundaries: 1 },
    live: { is: false, who: null },
    undo: { available: false, at: null, standing: null },
    sub_agents: [],
  };
}

const text = (value) => ({ type: "text", text: value, cut: null });

/** A message of the sample conversation. */
export function message(index, hostile) {
  const time = new Date(Date.UTC(2026, 0, 1, 10, 0, index)).toISOString();
  const head = {
    index,
    time,
    line: index + 4,
    boundary: index === 12,
    beside: index === 6 ? { branch: 3, side: 1 } : { branch: 0, side: 0 },
    findings: [],
  };
  const say = hostile ?? ((value) => value);
  switch (index % 4) {
    case 0:
      return {
        ...head,
        role: "user",
        parts: [
          text(
            say(
              index === 0
                ? "The parser drops empty lines in the middle of a block. Please find out why, and fix it."
                : "Go on.",
            ),
          ),
        ],
      };
    case 1:
      return {
        ...head,
        role: "assistant",
        findings: index === 5 ? [0] : [],
        parts: [
          {
            type: "thinking",
            text: say("The lexer probably folds them. I should look at the tests first."),
            sealed: true,
            cut: null,
          },
          text(say("I look at the lexer and its tests first.")),
          {
            type: "call",
            id: `toolu_${index}a`,
            name: say("Read"),
            arguments: JSON.stringify({ file_path: say("src/lexer.rs"), limit: 80 }),
            cut: null,
            state: "answered",
            answer: {
              message: index + 1,
              error: false,
              parts: [
                text(
                  say(
                    "1  use crate::token::Token;\n2\n3  /// Splits a text into tokens.\n4  pub fn lex(source: &str) -> Vec<Token> {",
                  ),
                ),
              ],
            },
          },
          {
            type: "call",
            id: `toolu_${index}b`,
            name: "Bash",
            arguments: JSON.stringify({ command: say("cargo test --test lexer") }),
            cut: null,
            state: index === 5 ? "open" : "failed",
            answer:
              index === 5
                ? null
                : {
                    message: index + 1,
                    error: true,
                    parts: [text(say("error: test failed, to rerun pass `--test lexer`"))],
                  },
          },
        ],
      };
    case 2:
      return { ...head, role: "user", folded: true, parts: [] };
    default:
      return {
        ...head,
        role: "assistant",
        parts: [
          text(
            say(
              "`lex` skips runs of line breaks. I keep the second one, so that an empty line stays a token of its own.",
            ),
          ),
        ],
      };
  }
}

export const FINDING = {
  code: "FW101",
  name: "unanswered-call",
  severity: "error",
  message: "call `toolu_5b` has no result",
  at: 5,
  line: 9,
  column: 1,
  partner: null,
  calls: ["toolu_5b"],
  tool: "Bash",
  fix: { applicability: "safe", strategy: "synthesize", word: "answered" },
};

export function slice(url, total, make, first = 0) {
  const from = Math.max(first, Number(url.searchParams.get("from") ?? first));
  const limit = Number(url.searchParams.get("limit") ?? 100);
  const data = [];
  for (let at = from; at < Math.min(total + first, from + limit); at += 1) data.push(make(at));
  return { data, from, total, version: "v1" };
}

export function plan() {
  const call = message(5);
  const plain = (one) => ({
    ...one,
    parts: one.parts.map((part) => (part.type === "call" ? { ...part, answer: null } : part)),
  });
  const result = (id, output, error) => ({
    type: "answer",
    id,
    name: null,
    error,
    parts: [text(output)],
  });
  return {
    plan: "p-1",
    version: "v1",
    changes: true,
    health: { before: "needs-repair", after: "ok" },
    findings: { before: { FW101: 1, FW103: 1 }, after: {} },
    messages: { before: 212, after: 212 },
    bytes: { before: 48_113, after: 48_411 },
    live: { is: false, who: null },
    edits_total: 22,
    edits: [
      {
        index: 0,
        code: "FW101",
        name: "unanswered-call",
        summary: "a tool call without a result",
        strategy: "synthesize",
        word: "answered",
        message: 5,
        calls: ["toolu_5b"],
        note: "call `toolu_5b` gets a placeholder result: it was interrupted and may have run",
      },
      {
        index: 1,
        code: "FW103",
        name: "displaced-result",
        summary: "a tool result in the wrong place",
        strategy: "recover",
        word: "recovered",
        message: 9,
        calls: ["toolu_5a"],
        note: "result `toolu_5a` is moved to its call",
      },
      ...Array.from({ length: 20 }, (_, at) => ({
        index: at + 2,
        code: "FW103",
        name: "displaced-result",
        summary: "a tool result in the wrong place",
        strategy: "drop-thinking",
        word: "dropped",
        message: 11 + at,
        calls: [],
        note: "signed thinking is removed: its signature covers the history before the edit",
      })),
    ],
    data: [
      { kind: "gap", count: 5, before: 0, after: 0 },
      {
        kind: "kept",
        before: { ...plain(call) },
        after: { index: 5, same: true, parts: [] },
        edits: [],
      },
      {
        kind: "changed",
        before: {
          index: 6,
          role: "user",
          time: null,
          line: 10,
          parts: [text("[Request interrupted by user]")],
        },
        after: {
          index: 6,
          role: "user",
          time: null,
          line: 10,
          parts: [
            result("toolu_5a", "1  use crate::token::Token;", false),
            result(
              "toolu_5b",
              "[foxwedge] Interrupted. It may have run: check before repeating.",
              true,
            ),
            text("[Request interrupted by user]"),
          ],
        },
        edits: [0, 1],
      },
      {
        kind: "kept",
        before: { ...message(7) },
        after: { index: 7, same: true, parts: [] },
        edits: [],
      },
      {
        kind: "removed",
        before: {
          index: 9,
          role: "user",
          time: null,
          line: 13,
          parts: [result("toolu_5a", "1  use crate::token::Token;", false)],
        },
        after: null,
        edits: [1],
      },
      {
        kind: "changed",
        before: { ...message(13) },
        after: { ...message(13), parts: message(13).parts.slice(1) },
        edits: [2],
      },
      { kind: "gap", count: 203, before: 10, after: 9 },
    ],
    from: 0,
    total: 7,
  };
}

export function cut(url) {
  const fraction = Number(url.searchParams.get("fraction") ?? 0.5);
  const weights = Array.from({ length: 96 }, (_, at) => 200 + ((at * 7919) % 900));
  const before = weights.reduce((sum, weight) => sum + weight, 0);
  const at = Math.round(96 * (1 - fraction));
  return {
    tokens: {
      before,
      after: Math.round(before * fraction * 0.96),
      naive: Math.round(before * fraction),
      counting: "o200k",
      exact: true,
    },
    messages: { before: 96, after: 96 - at },
    asked: { fraction, budget: null },
    repaired: 0,
    naive: {
      cut: at,
      sound: at % 4 === 2,
      orphans_total: at % 4 === 2 ? 0 : 2,
      orphans:
        at % 4 === 2
          ? []
          : [
              {
                call: { id: "toolu_9a", name: "Bash", message: at - 1 },
                answer: { message: at },
                lost: "call",
              },
              {
                call: { id: "toolu_9b", name: "Read", message: at - 1 },
                answer: { message: at + 1 },
                lost: "call",
              },
            ],
    },
    ours: {
      cut: at + 1,
      kept: [
        [0, 1],
        [at + 1, 96],
      ],
      gone: [[1, at + 1]],
      changed: [],
      sound: true,
    },
    weights,
  };
}

export function feedRows(count = 60) {
  const rows = [];
  for (let at = 0; at < count; at += 1) {
    const action =
      at % 7 === 0 ? "fixed" : at % 23 === 11 ? "failed" : at % 19 === 5 ? "rejected" : "none";
    rows.push({
      id: `q-${1_000_000 - at}`,
      request: `req_${at}`,
      at: NOW - at * 9_000,
      owner: "local",
      face: ["messages", "chat", "responses"][at % 3],
      agent: "claude-cli/2.1",
      model: ["claude-sonnet-4-5", "gpt-5", "gemini-3-pro"][at % 3],
      upstream: ["anthropic", "openai", "gemini"][at % 3],
      match: ["prefix", "new", "session-id"][at % 3],
      action,
      findings:
        action === "fixed" ? { FW101: 1, FW103: 2 } : action === "rejected" ? { FW102: 1 } : {},
      status: action === "failed" ? 529 : action === "rejected" ? 400 : 200,
      error:
        action === "failed"
          ? "upstream_unreachable"
          : action === "rejected"
            ? "invalid_history"
            : null,
      ended: "whole",
      first_ms: 12.5 + at,
      ms: 800 + ((at * 7919) % 2400),
      bytes_in: 48_113,
      bytes_out: 900,
      session: `s-${at % 5}`,
      run: `r-${at}`,
      repair: action === "fixed" ? `p-${at}` : null,
    });
  }
  return rows;
}

export function series() {
  const minutes = [];
  const start = Math.floor(NOW / MINUTE) * MINUTE;
  for (let at = 0; at < 55; at += 1) {
    const n = (at * 7919) % 9;
    if (at % 11 === 3) continue;
    minutes.push({
      at: start - at * MINUTE,
      requests: 8 + n,
      status: { "2xx": 8 + n },
      action: { none: 6 + n, fixed: n > 4 ? 2 : 0, failed: at % 17 === 0 ? 1 : 0 },
      findings: { FW101: n % 4, FW103: n % 3, FW702: n === 7 ? 3 : 0 },
      repairs: { FW101: n % 4, FW103: n % 3 },
      bytes_in: 100_000,
      bytes_out: 20_000,
      first_ms: { p50: 10, p90: 40, p99: 81 },
      ms: { p50: 600 + n * 40, p90: 1500 + n * 90, p99: 2300 + n * 180 },
    });
  }
  const total = {
    requests: 0,
    status: {},
    action: {},
    findings: {},
    repairs: {},
    bytes_in: 0,
    bytes_out: 0,
    first_ms: { p50: 10, p90: 40, p99: 81 },
    ms: { p50: 780, p90: 1900, p99: 3100 },
  };
  for (const minute of minutes) {
    total.requests += minute.requests;
    total.bytes_in += minute.bytes_in;
    total.bytes_out += minute.bytes_out;
    for (const field of ["action", "findings", "repairs"]) {
      for (const [name, n] of Object.entries(minute[field]))
        total[field][name] = (total[field][name] ?? 0) + n;
    }
  }
  return { step: MINUTE, from: start - 59 * MINUTE, minutes: minutes.reverse(), total };
}

/** The events of a made-up run: calls beside each other, a sub-agent, a stop. */
export function runEvents(run, { ended = true, say = (words) => words } = {}) {
  const start = NOW - 24_000;
  let seq = 0;
  const event = (type, ms, fields = {}) => ({
    type,
    runId: run,
    epoch: 1,
    seq: (seq += 1),
    at: start + ms,
    ...fields,
  });
  const call = (ms, id, name, fields) =>
    event("tool-call", ms, { toolCallId: id, name: say(name), ...fields });
  const result = (ms, id, status, content, fields = {}) =>
    event("tool-result", ms, {
      toolCallId: id,
      status,
      isError: status !== "succeeded",
      content: say(content),
      ...fields,
    });
  const events = [
    event("run-started", 0, {
      sessionId: "s-9c01",
      agent: say("claude-code"),
      model: say("claude-sonnet-4-5"),
    }),
    event("tools-available", 20, {
      version: 1,
      ready: true,
      tools: ["Bash", "Read", "Edit", "Grep", "Task"].map(say),
    }),
    event("tasks", 50, {
      tasks: [
        { id: "1", content: say("Read the lexer"), status: "completed" },
        {
          id: "2",
          content: say("Keep empty lines"),
          status: "in_progress",
          activeForm: say("Keeping empty lines"),
        },
        { id: "3", content: say("Run all tests"), status: "pending" },
      ],
    }),
    event("turn-started", 60, { turn: 1 }),
    event("thought", 70, { messageId: "m1", full: say("The tests should show it.") }),
    event("text", 90, {
      messageId: "m1",
      full: say("I look at the lexer, its tests and every caller at the same time."),
    }),
    call(100, "c1", "Read", {
      turn: 1,
      input: { file_path: say("src/lexer.rs") },
      title: say("src/lexer.rs"),
      status: "running",
    }),
    call(110, "c2", "Grep", { turn: 1, input: { pattern: say("fn lex") }, status: "running" }),
    call(120, "c3", "Bash", {
      turn: 1,
      input: { command: say("cargo test --test lexer") },
      status: "running",
    }),
    result(900, "c1", "succeeded", "1  use crate::token::Token;"),
    result(1_500, "c2", "succeeded", "src/lexer.rs:4\nsrc/main.rs:19"),
    result(7_800, "c3", "failed", "test empty_lines_stay ... FAILED"),
    event("usage", 7_900, {
      tokenUsage: { input: 12_400, output: 310, cached: 9_800, reasoning: 40 },
    }),
    event("turn-started", 8_000, { turn: 2 }),
    call(8_200, "c4", "Task", {
      turn: 2,
      input: { description: say("look for other callers") },
      title: say("look for other callers"),
      status: "running",
    }),
    call(9_000, "c5", "Grep", {
      turn: 2,
      parentToolCallId: "c4",
      input: { pattern: "lex\\(" },
      status: "running",
    }),
    call(9_200, "c6", "Read", {
      turn: 2,
      parentToolCallId: "c4",
      input: { file_path: "src/main.rs" },
      status: "running",
    }),
    event("text", 9_300, {
      messageId: "m2",
      parentToolCallId: "c4",
      full: say("Two callers, both in main.rs."),
    }),
    result(10_400, "c5", "succeeded", "src/main.rs:19"),
    result(11_000, "c6", "succeeded", "fn main() {"),
    result(12_500, "c4", "succeeded", "Two callers, both in main.rs."),
    event("turn-started", 12_700, { turn: 3 }),
    call(13_000, "c7", "Edit", {
      turn: 3,
      input: { file_path: "src/lexer.rs" },
      title: "src/lexer.rs",
      status: "running",
    }),
    call(13_050, "c8", "Bash", { turn: 3, input: { command: "cargo test" }, status: "running" }),
    call(13_060, "c9", "Bash", { turn: 3, input: { command: "git push" }, status: "pending" }),
    call(13_070, "c10", "AskUserQuestion", {
      turn: 3,
      input: { questions: [] },
      status: "pending",
    }),
    result(13_600, "c7", "succeeded", "done"),
    event("tool-progress", 15_000, { toolCallId: "c8", content: say("running 212 tests…") }),
    event("activity", 15_100, {
      kind: "repair",
      activityId: "card-1",
      content: { rule: "FW101", calls: [say("toolu_5b")] },
    }),
    event("error", 15_200, {
      message: say("rate limited, trying again"),
      code: "429",
      fatal: false,
    }),
    event("usage", 15_300, {
      tokenUsage: { input: 31_200, output: 820, cached: 26_000, reasoning: 40 },
    }),
  ];
  if (ended) {
    events.push(event("stop", 18_900, { grace: 0 }));
    events.push(event("run-ended", 19_000, { reason: "stopped" }));
  } else {
    events.push(
      event("approval-asked", 15_400, {
        toolCallId: "c9",
        turn: 3,
        requestId: "ask-1",
        prompt: say("May `git push` run?"),
      }),
    );
  }
  return events;
}

/** The events of a reply in a chat: a thought, a text, a finished call and one that runs. */
export function chatEvents(run, say = (words) => words) {
  let seq = 0;
  const event = (type, fields = {}) => ({
    type,
    runId: run,
    epoch: 1,
    seq: (seq += 1),
    at: NOW + seq,
    ...fields,
  });
  return [
    event("run-started", { sessionId: "chat-1", agent: "claude-code", model: "claude-code" }),
    event("tasks", {
      tasks: [
        { id: "1", content: say("Read the lexer"), status: "completed" },
        {
          id: "2",
          content: say("Run the tests"),
          status: "in_progress",
          activeForm: say("Running the tests"),
        },
      ],
    }),
    event("turn-started", { turn: 1 }),
    event("thought", { messageId: "t1", full: say("The tests should show it.") }),
    event("text", { messageId: "m1", full: say("I look at the lexer first.") }),
    event("tool-call", {
      toolCallId: "c1",
      turn: 1,
      name: say("Read"),
      input: { file_path: say("src/lexer.rs") },
      status: "running",
    }),
    event("tool-result", {
      toolCallId: "c1",
      turn: 1,
      status: "succeeded",
      content: say("1  use crate::token::Token;"),
    }),
    event("tool-call", {
      toolCallId: "c2",
      turn: 1,
      name: say("Bash"),
      input: { command: say("cargo test --test lexer") },
      status: "running",
    }),
  ];
}

export function runRows() {
  const outcomes = [
    "completed",
    "stopped",
    "failed",
    "interrupted",
    "completed",
    "max_turns",
    "refused",
    "no_text",
  ];
  const rows = [];
  for (let at = 0; at < 30; at += 1) {
    const open = at < 2;
    rows.push({
      id: `run-${(0x7f3a + at * 7919).toString(16)}`,
      session: `s-${at % 5}`,
      epoch: at + 1,
      agent: at % 3 === 0 ? null : "claude-code",
      model: ["claude-sonnet-4-5", "gpt-5", "gemini-3-pro"][at % 3],
      started: NOW - at * 55_000 - 9_000,
      events: 40 + at,
      state: open ? "open" : "ended",
      ended: open ? null : NOW - at * 55_000 + 12_000,
      outcome: open ? null : outcomes[at % outcomes.length],
      text: null,
      problem: null,
      calls: {
        total: 6,
        by_status: open
          ? { running: 2, awaiting_approval: at, succeeded: 3 }
          : {
              succeeded: 4 + (at % 3),
              ...(at % 4 === 1 ? { interrupted: 2 } : {}),
              ...(at % 5 === 2 ? { failed: 1 } : {}),
            },
      },
      usage: open
        ? null
        : { input: 12_000 + at * 331, output: 300 + at * 17, cached: 9_000, reasoning: 0 },
    });
  }
  return rows;
}
