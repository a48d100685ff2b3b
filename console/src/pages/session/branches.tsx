/** The records of a session as a tree: the conversation, and what is not part of it. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { fetchJson, path } from "../../data/ask.js";
import type { Sliced, TreeRow } from "../../data/types.js";
import { Badge, type Tone } from "../../parts/badge.js";
import { ErrorNote } from "../../parts/frame.js";
import { Icon, type IconName } from "../../parts/icon.js";
import { LongList } from "../../parts/long.js";
import { go } from "../../route.js";
import { labelOf, t } from "../../words.js";
import { Lanes } from "./lanes.js";

/** The most records that are drawn. */
const MAX_RECORDS = 60_000;
const PAGE_SIZE = 500;

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
  const loader = useMemo(() => new TreeLoader(id), [id]);
  useEffect(() => {
    void loader.run();
    return () => loader.abort.abort();
  }, [loader]);
  const active = useSignal(0);
  void loader.changes.value;
  const { rows, lanes } = loader;
  return (
    <section class="panel fill">
      <header>
        <h2>{t("session.tree")}</h2>
        <span class="end muted">
          {loader.isCut ? t("tree.cut", { n: MAX_RECORDS }) : t("tree.legend")}
        </span>
      </header>
      {loader.error !== undefined && <ErrorNote error={loader.error} />}
      <LongList
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
                <span data-standing={row.standing}>{labelOf("standing", row.standing)}</span>
              </Badge>
              <span class="cut soft">{labelOf("role", row.role ?? row.kind)}</span>
              <span class="cut">
                {row.boundary && (
                  <Badge tone="ask" icon="fold">
                    {t("message.compacted")}
                  </Badge>
                )}{" "}
                {row.words === null || row.words === "" ? (
                  <span class="muted">{t("tree.notext")}</span>
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

class TreeLoader {
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
          limit: PAGE_SIZE,
          kind: "messages",
        });
        const page = await fetchJson<Sliced<TreeRow>>(address, { signal });
        for (const row of page.data) {
          this.rows.push(row);
          this.lanes.add(row.record, row.parent);
        }
        this.isCut = this.rows.length >= MAX_RECORDS && page.total > MAX_RECORDS;
        this.changes.value += 1;
        if (page.data.length === 0 || this.rows.length >= Math.min(page.total, MAX_RECORDS)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      this.error = error as Error;
      this.changes.value += 1;
    }
  }
}
