/** The records of a session as a tree: what is part of the conversation, and what was left beside it. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { ask, path } from "../../data/ask.js";
import type { Sliced, TreeRow } from "../../data/types.js";
import { Badge, type Tone } from "../../parts/badge.js";
import { Trouble } from "../../parts/frame.js";
import { Icon, type IconName } from "../../parts/icon.js";
import { Long } from "../../parts/long.js";
import { go } from "../../route.js";
import { maybe, t } from "../../words.js";
import { Lanes } from "./lanes.js";

/** More than this is not drawn as a tree. */
const MOST = 60_000;
const PAGE = 500;

const STANDINGS: Readonly<Record<TreeRow["standing"], readonly [Tone, IconName]>> = {
  path: ["ok", "dot"],
  carried: ["ok", "arrow"],
  recovered: ["ok", "recovered"],
  branch: ["warn", "branch"],
  side: ["run", "runs"],
  twin: ["rest", "copy"],
  aside: ["rest", "ring"],
};

export function Branches({ id }: { id: string }) {
  const load = useMemo(() => new Loading(id), [id]);
  useEffect(() => {
    void load.run();
    return () => load.abort.abort();
  }, [load]);
  const active = useSignal(0);
  void load.changes.value;
  const { rows, lanes } = load;
  return (
    <section class="panel fill">
      <header>
        <h2>{t("session.tree")}</h2>
        <span class="end muted">{load.isCut ? t("tree.cut", { n: MOST }) : t("tree.legend")}</span>
      </header>
      {load.error !== undefined && <Trouble error={load.error} />}
      <Long
        label={t("session.tree")}
        role="tree"
        count={rows.length}
        height={1.875}
        active={active}
        row={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const [tone, icon] = STANDINGS[row.standing];
          const isOn =
            row.standing === "path" || row.standing === "carried" || row.standing === "recovered";
          const open = () => {
            if (row.message !== null && isOn) go(["sessions", id], { at: String(row.message) });
            else go(["sessions", id], { tab: "raw", line: String(row.line) });
          };
          return (
            <div
              class={`row tree-grid ${isOn ? "on" : "off"}`}
              role="treeitem"
              aria-level={lanes.lane(index) + 1}
              aria-setsize={rows.length}
              aria-posinset={index + 1}
              aria-selected={index === active.value}
              data-stop
              tabIndex={index === active.value ? 0 : -1}
              onClick={open}
              onKeyDown={(event) => {
                if (event.key === "Enter") open();
              }}
            >
              <span class="graph" aria-hidden="true">
                {lanes.open(index).map((lane) => (
                  <i key={lane} class={`stem lane-${lane}`} />
                ))}
                <i class={`knot lane-${lanes.lane(index)}`} />
              </span>
              <Badge tone={tone} icon={icon} plain>
                <span data-standing={row.standing}>{maybe("standing", row.standing)}</span>
              </Badge>
              <span class="cut soft">{maybe("role", row.role ?? row.kind)}</span>
              <span class="cut">
                {row.boundary && (
                  <Badge tone="ask" icon="fold">
                    {t("message.compacted")}
                  </Badge>
                )}{" "}
                {row.words === null || row.words === "" ? (
                  <span class="muted">{t("tree.silent")}</span>
                ) : (
                  row.words
                )}
              </span>
              <span class="right muted num">
                {row.line}
                <Icon name="chevron" class="inline" />
              </span>
            </div>
          );
        }}
      />
    </section>
  );
}

class Loading {
  readonly rows: TreeRow[] = [];
  readonly lanes = new Lanes();
  readonly changes = signal(0);
  readonly abort = new AbortController();
  error: Error | undefined;
  isCut = false;

  constructor(private readonly id: string) {}

  async run(): Promise<void> {
    const { signal } = this.abort;
    try {
      for (;;) {
        const from = this.rows.length;
        const address = path(["console", "sessions", this.id, "tree"], {
          from,
          limit: PAGE,
          kind: "messages",
        });
        const page = await ask<Sliced<TreeRow>>(address, { signal });
        for (const row of page.data) {
          this.rows.push(row);
          this.lanes.add(row.record, row.parent);
        }
        this.isCut = this.rows.length >= MOST && page.total > MOST;
        this.changes.value += 1;
        if (page.data.length === 0 || this.rows.length >= Math.min(page.total, MOST)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.error = error as Error;
      this.changes.value += 1;
    }
  }
}
