/** A tool call as a card. Its status is that of the run machine. */

import type { ComponentChildren } from "preact";

import type { TaskTruth, ToolTruth } from "../machine/snapshot.js";
import type { Status } from "../status.js";
import type { ChatWords } from "./words.js";

const SIGNS: Readonly<Record<Status, readonly [string, string]>> = {
  unknown: ["rest", "–"],
  pending: ["rest", "○"],
  awaiting_approval: ["ask", "?"],
  running: ["run", "●"],
  succeeded: ["ok", "✓"],
  failed: ["bad", "✗"],
  denied: ["bad", "⊘"],
  cancelled: ["rest", "⊘"],
  interrupted: ["warn", "!"],
  handed_over: ["ask", "→"],
};

/** A state as a sign and a word. The color carries no extra information. */
export function Sign(props: { tone: string; sign: string; moves?: boolean; children: ComponentChildren }) {
  return (
    <span class={`fw-badge fw-${props.tone}`}>
      <span class={props.moves === true ? "fw-pulse" : ""} aria-hidden="true">
        {props.sign}
      </span>{" "}
      {props.children}
    </span>
  );
}

/** One tool call. `frozen`: the status may be out of date, so nothing moves. */
export function ToolCard(props: {
  tool: ToolTruth;
  /** The calls of a sub-agent that works for this call. */
  nested?: readonly ToolTruth[];
  words: ChatWords;
  frozen?: boolean;
}) {
  const { tool, nested = [], words, frozen = false } = props;
  const [tone, sign] = SIGNS[tool.status];
  const reason = tool.reason === undefined ? "" : ` · ${words.reason[tool.reason]}`;
  return (
    <details class="fw-tool" data-call={tool.call}>
      <summary>
        <Sign tone={tone} sign={sign} moves={tool.status === "running" && !frozen}>
          <span data-status={tool.status}>
            {words.status[tool.status]}
            {reason}
          </span>
        </Sign>
        <b>{tool.name ?? words.unnamed}</b>
        <span class="fw-brief">{tool.title ?? brief(tool.input)}</span>
      </summary>
      {tool.status === "interrupted" && <p class="fw-note fw-warn">{words.mayHaveRun}</p>}
      {tool.status === "cancelled" && <p class="fw-note">{words.neverStarted}</p>}
      <div class="fw-label">{words.input}</div>
      <pre>{pretty(tool.input)}</pre>
      <div class="fw-label">{words.output}</div>
      {tool.content === undefined ? (
        <p class="fw-muted">{words.noOutput}</p>
      ) : (
        <pre>{pretty(tool.content)}</pre>
      )}
      {nested.length > 0 && (
        <>
          <div class="fw-label">{words.nested(nested.length)}</div>
          {nested.map((one) => (
            <ToolCard key={`${one.turn} ${one.call}`} tool={one} words={words} frozen={frozen} />
          ))}
        </>
      )}
    </details>
  );
}

const TASKS: Readonly<Record<TaskTruth["status"], readonly [string, string]>> = {
  completed: ["ok", "✓"],
  in_progress: ["run", "●"],
  pending: ["rest", "○"],
  paused: ["warn", "‖"],
  unknown: ["rest", "–"],
};

/** The tasks of an agent. */
export function TaskList(props: { tasks: readonly TaskTruth[]; words: ChatWords }) {
  const { tasks, words } = props;
  if (tasks.length === 0) return null;
  const done = tasks.filter(({ status }) => status === "completed").length;
  return (
    <details class="fw-tasks" open>
      <summary>
        {words.tasks} <span class="fw-muted">{`${done} / ${tasks.length}`}</span>
      </summary>
      <ol>
        {tasks.slice(0, 500).map((task, at) => {
          const [tone, sign] = TASKS[task.status];
          return (
            <li key={task.id ?? at}>
              <Sign tone={tone} sign={sign}>
                <span data-task={task.status}>{words.task[task.status] ?? task.status}</span>
              </Sign>
              <span>
                {task.status === "in_progress" ? (task.active ?? task.content) : task.content}
              </span>
            </li>
          );
        })}
      </ol>
    </details>
  );
}

/** A short form of the arguments. */
function brief(input: unknown): string {
  if (input === undefined || input === null) return "";
  if (typeof input !== "object") return String(input).slice(0, 160);
  const plain = Object.values(input).filter((value) => typeof value !== "object");
  return plain.map(String).join(" ").slice(0, 160);
}

const LONGEST = 20_000;

function pretty(value: unknown): string {
  const texts = Array.isArray(value)
    ? value.map((part: unknown) => (part as { text?: unknown } | null)?.text)
    : [];
  const text =
    typeof value === "string"
      ? value
      : texts.length > 0 && texts.every((one) => typeof one === "string")
        ? texts.join("\n")
        : (JSON.stringify(value, undefined, 2) ?? "");
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
