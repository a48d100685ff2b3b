/** Goes anywhere: pages, sessions, runs, rules, ids. Opened with Ctrl-K. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { ask, path } from "../data/ask.js";
import type { About, Paged, RunRow, SessionList } from "../data/types.js";
import { go } from "../route.js";
import { t } from "../words.js";
import { Icon, type IconName } from "./icon.js";

export const isOpen = signal(false);

if (typeof addEventListener !== "undefined") {
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      isOpen.value = !isOpen.value;
    } else if (event.key === "Escape" && isOpen.value) {
      isOpen.value = false;
    }
  });
}

interface Goal {
  readonly icon: IconName;
  readonly words: string;
  readonly where: string;
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

export function Palette() {
  const query = useSignal("");
  const at = useSignal(0);
  const found = useSignal<readonly Goal[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef<Element | null>(document.activeElement);

  // Before anything is painted: what is typed next belongs in here.
  useLayoutEffect(() => {
    input.current?.focus();
    return () => {
      if (before.current instanceof HTMLElement) before.current.focus();
    };
  }, []);

  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      void search(query.value, abort.signal).then((goals) => {
        if (!abort.signal.aborted) found.value = goals;
      });
    }, 120);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query.value]);

  const goals = [...pages(query.value), ...found.value];
  const chosen = Math.min(at.value, goals.length - 1);
  const take = (goal: Goal | undefined) => {
    if (goal === undefined) return;
    before.current = null;
    isOpen.value = false;
    go(goal.path, goal.query);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      at.value = (chosen + step + goals.length) % Math.max(1, goals.length);
      requestAnimationFrame(() =>
        document.getElementById(`goal-${at.value}`)?.scrollIntoView({ block: "nearest" }),
      );
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(goals[chosen]);
    } else if (event.key === "Tab") {
      event.preventDefault();
      isOpen.value = false;
    }
  };
  return (
    <div
      class="veil"
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) isOpen.value = false;
      }}
    >
      <div class="palette" role="dialog" aria-modal="true" aria-label={t("palette.open")}>
        <input
          ref={input}
          role="combobox"
          aria-expanded="true"
          aria-controls="goals"
          aria-activedescendant={chosen < 0 ? undefined : `goal-${chosen}`}
          aria-label={t("palette.hint")}
          placeholder={t("palette.hint")}
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
            at.value = 0;
          }}
          onKeyDown={press}
        />
        <ul id="goals" role="listbox" aria-label={t("palette.open")}>
          {goals.map((goal, index) => (
            <li
              key={`${goal.path.join("/")} ${index}`}
              id={`goal-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseMove={() => (at.value = index)}
              onClick={() => take(goal)}
            >
              <Icon name={goal.icon} />
              <span class="cut">{goal.words}</span>
              <span class="where">{goal.where}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function pages(query: string): readonly Goal[] {
  const where = t("palette.page");
  const all: readonly Goal[] = [
    { icon: "sessions", words: t("nav.sessions"), where, path: ["sessions"] },
    {
      icon: "cross",
      words: t("palette.needs-repair"),
      where,
      path: ["sessions"],
      query: { health: "needs-repair" },
    },
    { icon: "runs", words: t("nav.runs"), where, path: ["runs"] },
    {
      icon: "live",
      words: t("palette.open.runs"),
      where,
      path: ["runs"],
      query: { state: "open" },
    },
    { icon: "feed", words: t("nav.feed"), where, path: ["feed"] },
    { icon: "compaction", words: t("nav.compaction"), where, path: ["compaction"] },
    { icon: "metrics", words: t("nav.metrics"), where, path: ["metrics"] },
  ];
  const words = query.trim().toLowerCase();
  return all.filter((goal) => goal.words.toLowerCase().includes(words));
}

let about: Promise<About> | undefined;

/** What the server has under these words. What it does not say is left out. */
async function search(query: string, signal: AbortSignal): Promise<readonly Goal[]> {
  const words = query.trim();
  if (words === "") return [];
  const lower = words.toLowerCase();
  about ??= ask<About>("/v1/console");
  const [sessions, runs, rules] = await Promise.all([
    ask<SessionList>(path(["console", "sessions"], { q: words, limit: 12 }), { signal }).catch(
      () => undefined,
    ),
    ask<Paged<RunRow>>(path(["runs"], { limit: 200 }), { signal }).catch(() => undefined),
    about.catch(() => {
      about = undefined;
      return undefined;
    }),
  ]);
  const goals: Goal[] = [];
  for (const row of sessions?.data ?? []) {
    const name = row.title ?? row.session;
    goals.push({
      icon: row.source === "file" ? "file" : "gateway",
      words: name,
      where: row.agent ?? row.source,
      path: ["sessions", row.id],
    });
  }
  for (const run of runs?.data ?? []) {
    const all = `${run.id} ${run.session} ${run.agent ?? ""} ${run.model ?? ""}`.toLowerCase();
    if (!all.includes(lower)) continue;
    goals.push({
      icon: "runs",
      words: run.id,
      where: run.model ?? t("nav.runs"),
      path: ["runs", run.id],
    });
    if (goals.length > 30) break;
  }
  for (const rule of rules?.rules ?? []) {
    if (!`${rule.code} ${rule.name} ${rule.summary}`.toLowerCase().includes(lower)) continue;
    goals.push({
      icon: "wrench",
      words: `${rule.code} ${rule.name}`,
      where: rule.summary,
      path: ["rules", rule.code],
    });
    if (goals.length > 40) break;
  }
  return goals;
}
