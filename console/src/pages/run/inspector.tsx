/** The raw events of a run, in each format that the server can encode. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { path } from "../../data/ask.js";
import type { LiveRun } from "../../data/live.js";
import { headers } from "../../data/token.js";
import { CopyButton } from "../../parts/button.js";
import { LongList } from "../../parts/long.js";
import { JsonText } from "../../parts/text.js";
import { route, setQuery } from "../../route.js";
import { count, t } from "../../words.js";

const FORMATS = [
  ["jsonl", "JSONL"],
  ["agui", "AG-UI"],
  ["ai-sdk", "AI SDK"],
  ["acp", "ACP"],
] as const;

const MAX_FRAMES = 50_000;

export function Inspector({ live }: { live: LiveRun }) {
  const format = route.value.query.get("format") ?? "jsonl";
  const frames = useFrames(live.id, format);
  void live.view.value;
  const lines = format === "jsonl" ? live.lines : frames.lines;
  const active = useSignal(0);
  const chosen = lines[Math.min(active.value, lines.length - 1)];
  return (
    <div class="inspector">
      <section class="panel fill">
        <header>
          <div class="chips" role="group" aria-label={t("run.format")}>
            {FORMATS.map(([id, name]) => (
              <button
                key={id}
                type="button"
                class="chip"
                aria-pressed={id === format}
                onClick={() => {
                  active.value = 0;
                  setQuery({ format: id });
                }}
              >
                {name}
              </button>
            ))}
          </div>
          <span class="end muted num">
            {t("run.lines", { n: lines.length })}
            {live.omitted > 0 && format === "jsonl" && ` · ${t("run.left", { n: live.omitted })}`}
          </span>
        </header>
        {frames.error !== "" && format !== "jsonl" && <p class="note tone-warn">{frames.error}</p>}
        <LongList
          label={t("run.events")}
          count={lines.length}
          height={1.625}
          active={active}
          row={(index) => (
            <button
              type="button"
              class={`row event-grid ${index === active.value ? "chosen" : ""}`}
              data-stop
              tabIndex={index === active.value ? 0 : -1}
              onClick={() => (active.value = index)}
            >
              <span class="muted num right">
                {count(index + 1 + (format === "jsonl" ? live.omitted : 0))}
              </span>
              <span class="cut mono">{(lines[index] ?? "").slice(0, 300)}</span>
            </button>
          )}
        />
      </section>
      <section class="panel fill" aria-label={t("run.event")}>
        <header>
          <h2>{t("run.event")}</h2>
          <span class="end">
            {chosen !== undefined && <CopyButton text={chosen} label={t("copy")} />}
          </span>
        </header>
        <div class="inside scroll">
          {chosen !== undefined && <JsonText key={chosen} text={chosen} />}
        </div>
      </section>
    </div>
  );
}

/** The frames of another format, live. */
function useFrames(run: string, format: string): { lines: readonly string[]; error: string } {
  const state = useMemo(() => ({ lines: [] as string[], error: "" }), [run, format]);
  const version = useSignal(0);
  void version.value;
  useEffect(() => {
    if (format === "jsonl") return undefined;
    const abort = new AbortController();
    void read(run, format, abort.signal, (lines) => {
      state.lines.push(...lines.slice(0, MAX_FRAMES - state.lines.length));
      version.value += 1;
    }).catch((error: Error) => {
      if (abort.signal.aborted) return;
      state.error = error.message;
      version.value += 1;
    });
    return () => abort.abort();
  }, [state]);
  return state;
}

async function read(
  run: string,
  format: string,
  signal: AbortSignal,
  take: (lines: readonly string[]) => void,
): Promise<void> {
  const url = path(["runs", run, "events"], { format, replay: "true" });
  const reply = await fetch(url, {
    headers: { accept: "text/event-stream", ...headers() },
    credentials: "omit",
    cache: "no-store",
    signal,
  });
  if (!reply.ok || reply.body === null) throw new Error(`${reply.status}`);
  const reader = reply.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    const lines = parts.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
    if (lines.length > 0) take(lines);
  }
}
