/** The command palette: jumps to pages, sessions, runs and rules. Opened with Ctrl-K. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { fetchJson, path } from "../data/ask.js";
import type { About, Paged, RunRow, SessionList } from "../data/types.js";
import { go } from "../route.js";
import { t } from "../words.js";
import { ruleSummary } from "../words/rules.js";
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

interface PaletteItem {
  readonly icon: IconName;
  readonly label: string;
  readonly where: string;
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

export function Palette() {
  const query = useSignal("");
  const at = useSignal(0);
  const found = useSignal<readonly PaletteItem[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef<Element | null>(document.activeElement);

  // Takes the focus before the first paint, so that the next key press goes here.
  useLayoutEffect(() => {
    input.current?.focus();
    return () => {
      if (before.current instanceof HTMLElement) before.current.focus();
    };
  }, []);

  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      void search(query.value, abort.signal).then((items) => {
        if (!abort.signal.aborted) found.value = items;
      });
    }, 120);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [query.value]);

  const items = [...pages(query.value), ...found.value];
  const chosen = Math.min(at.value, items.length - 1);
  const open = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    before.current = null;
    isOpen.value = false;
    go(item.path, item.query);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      at.value = (chosen + step + items.length) % Math.max(1, items.length);
      requestAnimationFrame(() =>
        document.getElementById(`goal-${at.value}`)?.scrollIntoView({ block: "nearest" }),
      );
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(items[chosen]);
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
          {items.map((item, index) => (
            <li
              key={`${item.path.join("/")} ${index}`}
              id={`goal-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseMove={() => (at.value = index)}
              onClick={() => open(item)}
            >
              <Icon name={item.icon} />
              <span class="cut">{item.label}</span>
              <span class="where">{item.where}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function pages(query: string): readonly PaletteItem[] {
  const where = t("palette.page");
  const all: readonly PaletteItem[] = [
    { icon: "start", label: t("nav.start"), where, path: ["start"] },
    { icon: "chat", label: t("nav.chat"), where, path: ["chat"] },
    { icon: "sessions", label: t("nav.sessions"), where, path: ["sessions"] },
    {
      icon: "cross",
      label: t("palette.needs-repair"),
      where,
      path: ["sessions"],
      query: { health: "needs-repair" },
    },
    { icon: "runs", label: t("nav.runs"), where, path: ["runs"] },
    {
      icon: "live",
      label: t("palette.open.runs"),
      where,
      path: ["runs"],
      query: { state: "open" },
    },
    { icon: "feed", label: t("nav.feed"), where, path: ["feed"] },
    { icon: "compaction", label: t("nav.compaction"), where, path: ["compaction"] },
    { icon: "metrics", label: t("nav.metrics"), where, path: ["metrics"] },
  ];
  const term = query.trim().toLowerCase();
  return all.filter((item) => item.label.toLowerCase().includes(term));
}

let about: Promise<About> | undefined;

/** Searches the server. Sources that fail are left out. */
async function search(query: string, signal: AbortSignal): Promise<readonly PaletteItem[]> {
  const term = query.trim();
  if (term === "") return [];
  const lower = term.toLowerCase();
  about ??= fetchJson<About>("/v1/console");
  const [sessions, runs, rules] = await Promise.all([
    fetchJson<SessionList>(path(["console", "sessions"], { q: term, limit: 12 }), { signal }).catch(
      () => undefined,
    ),
    fetchJson<Paged<RunRow>>(path(["runs"], { limit: 200 }), { signal }).catch(() => undefined),
    about.catch(() => {
      about = undefined;
      return undefined;
    }),
  ]);
  const items: PaletteItem[] = [];
  for (const row of sessions?.data ?? []) {
    const name = row.title ?? row.session;
    items.push({
      icon: row.source === "file" ? "file" : "gateway",
      label: name,
      where: row.agent ?? row.source,
      path: ["sessions", row.id],
    });
  }
  for (const run of runs?.data ?? []) {
    const all = `${run.id} ${run.session} ${run.agent ?? ""} ${run.model ?? ""}`.toLowerCase();
    if (!all.includes(lower)) continue;
    items.push({
      icon: "runs",
      label: run.id,
      where: run.model ?? t("nav.runs"),
      path: ["runs", run.id],
    });
    if (items.length > 30) break;
  }
  for (const rule of rules?.rules ?? []) {
    const words = `${rule.code} ${rule.name} ${rule.summary} ${ruleSummary(rule.code, "")}`;
    if (!words.toLowerCase().includes(lower)) continue;
    items.push({
      icon: "wrench",
      label: `${rule.code} ${rule.name}`,
      where: ruleSummary(rule.code, rule.summary),
      path: ["rules", rule.code],
    });
    if (items.length > 40) break;
  }
  return items;
}
