/** A fake gateway with sample data for every page. */

import { json, sse, startSite } from "./site.mjs";
import * as data from "./data.mjs";

/** Starts it. `hostile` changes every untrusted text; `messages` is the number of messages. */
export function startFakeGateway({ hostile, messages = 212, events } = {}) {
  const say = hostile ?? ((text) => text);
  const rows = data
    .sessionRows()
    .map((row) => ({
      ...row,
      title: row.title && say(row.title),
      project: row.project && say(row.project),
    }));
  const row = (id) => rows.find((one) => one.id === id) ?? rows[0];
  let isRepaired = false;
  const prompts = [];
  const stopped = new Set();
  const followers = new Map();
  /** The events of a reply in a chat. It runs until it is stopped. */
  const chatStream = (run, request, reply) => {
    const all = data.chatEvents(run, say);
    const end = (type, fields) => ({ type, runId: run, epoch: 1, at: Date.now(), ...fields });
    const send = sse(reply);
    let sent = Number(request.headers["last-event-id"]?.split(".")[0] ?? 0);
    const more = () => {
      const ends = [end("stop", { grace: 0 }), end("run-ended", { reason: "stopped" })];
      const log = [...all, ...(stopped.has(run) ? ends : [])];
      for (; sent < log.length; sent += 1) {
        send(`${sent + 1}.1`, JSON.stringify({ ...log[sent], seq: sent + 1 }));
      }
      if (stopped.has(run)) reply.end();
    };
    more();
    followers.set(run, [...(followers.get(run) ?? []), more]);
  };
  return startSite([
    ["GET", /^\/v1\/console$/, () => data.ABOUT],
    [
      "GET",
      /^\/v1\/console\/rules\/(.+)$/,
      ({ match }) => ({
        code: match[1],
        name: "unanswered-call",
        summary: say("a tool call without a result"),
        page: say(
          "# unanswered-call\n\nA tool call has no result.\n\n| provider | error |\n|---|---|\n| Anthropic | `tool_use` ids were found without `tool_result` blocks |\n\n- **recover** first\n- then a placeholder\n",
        ),
      }),
    ],
    ["GET", /^\/v1\/console\/sessions$/, ({ url }) => data.listed(url, rows)],
    [
      "GET",
      /^\/v1\/console\/sessions\/([^/]+)$/,
      ({ match }) => ({
        ...data.sessionView(row(match[1]), messages),
        ...(isRepaired
          ? {
              version: "v2",
              health: "ok",
              findings: {},
              undo: { available: true, at: Date.now(), standing: "made" },
            }
          : {}),
      }),
    ],
    [
      "GET",
      /^\/v1\/console\/sessions\/[^/]+\/messages$/,
      ({ url }) => data.slice(url, messages, (at) => data.message(at, hostile)),
    ],
    [
      "GET",
      /^\/v1\/console\/sessions\/[^/]+\/findings$/,
      ({ url }) =>
        data.slice(url, isRepaired ? 0 : 1, () => ({
          ...data.FINDING,
          message: say(data.FINDING.message),
        })),
    ],
    [
      "GET",
      /^\/v1\/console\/sessions\/[^/]+\/tree$/,
      ({ url }) =>
        data.slice(url, Math.min(messages, 3_000), (at) => ({
          record: at,
          line: at + 4,
          id: `u-${at}`,
          parent: at === 0 ? null : at === 9 ? 5 : at - 1,
          kind: at % 2 === 0 ? "user" : "assistant",
          role: at % 2 === 0 ? "user" : "assistant",
          standing: at > 5 && at < 9 ? "branch" : at === 14 ? "side" : "path",
          message: at,
          boundary: at === 12,
          time: null,
          words: say(at % 2 === 0 ? "Go on." : "I look at the lexer and its tests first."),
        })),
    ],
    [
      "GET",
      /^\/v1\/console\/sessions\/[^/]+\/records$/,
      ({ url }) =>
        data.slice(
          url,
          messages + 9,
          (line) => ({
            line,
            bytes: 480,
            text: JSON.stringify({
              type: "assistant",
              uuid: `u-${line}`,
              parentUuid: `u-${line - 1}`,
              message: {
                role: "assistant",
                content: [{ type: "text", text: say("I look at the lexer.") }],
              },
            }),
            cut: null,
          }),
          1,
        ),
    ],
    [
      "GET",
      /^\/v1\/console\/sessions\/[^/]+\/repair$/,
      () =>
        isRepaired
          ? { ...data.plan(), changes: false, plan: null, data: [], total: 0, edits: [] }
          : data.plan(),
    ],
    [
      "GET",
      /^\/v1\/console\/sessions\/[^/]+\/repair\.md$/,
      ({ reply }) => {
        reply.writeHead(200, { "content-type": "text/markdown" });
        reply.end("# Repair\n");
      },
    ],
    [
      "POST",
      /^\/v1\/console\/sessions\/[^/]+\/repair$/,
      () => {
        isRepaired = true;
        return {
          applied: 2,
          fixed: 2,
          left: {},
          health: "ok",
          version: "v2",
          backup: "~/.local/state/foxwedge/backups/0a1b.jsonl",
          resume: "cd /home/mo/parser && claude --resume 0a1b2c3d-0",
          undo: { available: true, at: Date.now(), standing: "made" },
        };
      },
    ],
    [
      "POST",
      /^\/v1\/console\/sessions\/[^/]+\/undo$/,
      () => {
        isRepaired = false;
        return {
          version: "v1",
          health: "needs-repair",
          undo: { available: false, at: null, standing: null },
        };
      },
    ],
    ["GET", /^\/v1\/console\/sessions\/[^/]+\/compaction$/, ({ url }) => data.cut(url)],
    ["POST", /^\/v1\/console\/compaction$/, ({ url }) => data.cut(url)],
    [
      "GET",
      /^\/v1\/console\/feed$/,
      ({ url }) => {
        const status = url.searchParams.get("status")?.charAt(0) ?? "";
        const rows = data.feedRows().filter((one) => `${one.status}`.startsWith(status));
        const shown = rows.map((one) => ({ ...one, model: say(one.model) }));
        return { data: shown, has_more: false, next: null };
      },
    ],
    ["GET", /^\/v1\/console\/feed\/events$/, ({ reply }) => void sse(reply)],
    [
      "GET",
      /^\/v1\/console\/feed\/(.+)$/,
      ({ match, reply }) => {
        const one = data.feedRows().find(({ id }) => id === match[1]);
        if (one === undefined) return json(reply, 404, { error: { code: "request_not_found" } });
        return {
          ...one,
          changes:
            one.action === "fixed"
              ? [
                  {
                    code: "FW101",
                    strategy: "synthesize",
                    message: 5,
                    calls: ["toolu_5b"],
                    note: say("call `toolu_5b` gets a placeholder result"),
                  },
                ]
              : null,
          rows: one.action === "fixed" ? data.plan().data.slice(0, 4) : null,
          losses: null,
          compacted: null,
          mode: "fix",
          format: "anthropic",
          body_before: null,
          body_after: null,
        };
      },
    ],
    ["GET", /^\/v1\/console\/series$/, () => data.series()],
    [
      "GET",
      /^\/v1\/sessions\/(.+)$/,
      ({ match }) => ({
        session: { id: match[1], title: null, touched: Date.now() },
        data: data.runRows().slice(0, 5),
        has_more: false,
        next: null,
      }),
    ],
    [
      "GET",
      /^\/v1\/models$/,
      () => ({ object: "list", data: [{ id: "claude-code" }, { id: "scripted" }] }),
    ],
    [
      "POST",
      /^\/v1\/chat\/completions$/,
      ({ body, reply }) => {
        prompts.push(body.messages);
        reply.writeHead(200, {
          "content-type": "text/event-stream",
          "x-foxwedge-run": `chat-${prompts.length}`,
        });
        const text = say("I look at the lexer first.");
        reply.write(`data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`);
      },
    ],
    [
      "GET",
      /^\/v1\/runs$/,
      () => ({
        data: data.runRows().map((one) => ({ ...one, model: say(one.model) })),
        has_more: false,
        next: null,
      }),
    ],
    [
      "GET",
      /^\/v1\/runs\/([^/]+)\/events$/,
      ({ match, url, request, reply }) => {
        if (match[1].startsWith("chat-")) return chatStream(match[1], request, reply);
        if (events !== undefined) return events({ run: match[1], url, request, reply });
        const send = sse(reply);
        const all = data.runEvents(match[1], { ended: !match[1].includes("open"), say });
        for (const event of all) send(`${event.seq}.1`, JSON.stringify(event));
        if (!match[1].includes("open")) reply.end();
      },
    ],
    [
      "GET",
      /^\/v1\/runs\/([^/]+)\/answers$/,
      ({ match }) => ({
        run: match[1],
        questions: [
          {
            question: "t-1",
            kind: "permission",
            tool: say("Bash"),
            call: "c9",
            input: { command: say("git push") },
          },
        ],
      }),
    ],
    [
      "POST",
      /^\/v1\/runs\/([^/]+)\/answers$/,
      ({ match }) => ({ run: match[1], question: "t-1", decision: "allow" }),
    ],
    [
      "POST",
      /^\/v1\/runs\/([^/]+)\/stop$/,
      ({ match, reply }) => {
        stopped.add(match[1]);
        for (const send of followers.get(match[1]) ?? []) send();
        json(reply, 202, { stopped: true });
      },
    ],
  ]).then((site) => ({ ...site, prompts }));
}
