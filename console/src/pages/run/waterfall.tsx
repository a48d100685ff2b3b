/** Every call of a run on one line of time: what waited, what worked, beside whom, and how it ended. */

import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";

import { now } from "../../data/clock.js";
import type { LiveRun } from "../../data/live.js";
import { StatusBadge, toneOf } from "../../parts/badge.js";
import { Empty } from "../../parts/frame.js";
import { Long } from "../../parts/long.js";
import type { RunSnapshot } from "../../run.js";
import { span, t } from "../../words.js";
import { type CallRow, keyOf, rowsOf, ticks } from "./order.js";

export function Waterfall(props: {
  live: LiveRun;
  run: RunSnapshot;
  chosen: Signal<string>;
  still: boolean;
}) {
  const { live, run, chosen, still } = props;
  const rows = useMemo(() => rowsOf(run.tools), [run.tools]);
  const at = rows.findIndex(({ tool }) => keyOf(tool) === chosen.value);
  const active = useSignal(Math.max(0, at));
  if (rows.length === 0) {
    const title = run.phase === "ended" ? t("run.nocalls") : t("run.nocalls.yet");
    return <Empty icon="tool" title={title} />;
  }
  const { notes } = live;
  const start = notes.startedAt ?? 0;
  const last = notes.endedAt ?? notes.lastAt ?? start;
  // Only a run that is known to go on moves with the clock.
  const end = run.phase === "ended" || still ? last : Math.max(last, now.value);
  const length = Math.max(1, end - start);
  const marks = ticks(length, 5);
  const place = (time: number | undefined) =>
    Math.max(0, Math.min(100, (((time ?? start) - start) / length) * 100));
  return (
    <div class="waterfall">
      <div class="axis fall-grid" aria-hidden="true">
        <span>{t("run.call")}</span>
        <span class="track">
          {marks.map((mark) => (
            <i key={mark} style={{ left: `${(mark / length) * 100}%` }}>
              {mark === 0 ? "0" : span(mark)}
            </i>
          ))}
        </span>
        <span class="right">{t("run.took")}</span>
      </div>
      <Long
        label={t("run.calls")}
        role="tree"
        count={rows.length}
        height={2.125}
        active={active}
        onSide={(index, side) => {
          const row = rows[index];
          if (row !== undefined && side === "right") chosen.value = keyOf(row.tool);
        }}
        row={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          const known = notes.of(row.tool.call, row.tool.turn);
          const [opened, settled] = [known?.opened, known?.settled ?? (known && end)];
          // What never started has no work to draw, only the time that it waited.
          const idle = row.tool.status === "cancelled" || row.tool.status === "denied";
          const begun = idle ? settled : (known?.begun ?? opened);
          return (
            <Line
              row={row}
              index={index}
              count={rows.length}
              stop={index === active.value}
              chosen={keyOf(row.tool) === chosen.value}
              still={still}
              choose={() => (chosen.value = keyOf(row.tool))}
              waits={[place(opened), place(begun)]}
              works={idle ? undefined : [place(begun), place(settled)]}
              took={known?.opened === undefined ? undefined : (settled ?? end) - known.opened}
            />
          );
        }}
      />
    </div>
  );
}

function Line(props: {
  row: CallRow;
  index: number;
  count: number;
  stop: boolean;
  chosen: boolean;
  still: boolean;
  choose: () => void;
  waits: readonly [number, number];
  works: readonly [number, number] | undefined;
  took: number | undefined;
}) {
  const { row, index, count, stop, chosen, still, choose, waits, works, took } = props;
  const { tool, depth, joinedUp, joinedDown } = row;
  const isOpen = ["unknown", "pending", "awaiting_approval", "running"].includes(tool.status);
  const lane = `lane ${joinedUp ? "up" : ""} ${joinedDown ? "down" : ""}`;
  return (
    <div
      class={`row fall-grid ${chosen ? "chosen" : ""}`}
      role="treeitem"
      aria-level={depth + 1}
      aria-setsize={count}
      aria-posinset={index + 1}
      aria-selected={chosen}
      data-stop
      data-call={tool.call}
      tabIndex={stop ? 0 : -1}
      onClick={choose}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose();
        }
      }}
    >
      <span class="who">
        <span class={lane} style={{ marginLeft: `${Math.min(depth, 8) * 0.9}rem` }} />
        <StatusBadge status={tool.status} still={still} />
        <b class="cut">{tool.name ?? t("run.unnamed")}</b>
        <span class="cut muted">{tool.title ?? short(tool.input)}</span>
      </span>
      <span class="track" aria-hidden="true">
        <i
          class="wait"
          style={{ left: `${waits[0]}%`, width: `${Math.max(0, waits[1] - waits[0])}%` }}
        />
        {works === undefined ? (
          <i class="end-mark" style={{ left: `${waits[1]}%` }} />
        ) : (
          <i
            class={`work tone-${toneOf(tool.status)} ${isOpen ? "open" : ""}`}
            style={{ left: `${works[0]}%`, width: `${Math.max(0.4, works[1] - works[0])}%` }}
          />
        )}
      </span>
      <span class="right num soft">{took === undefined ? "–" : span(took)}</span>
    </div>
  );
}

/** The arguments in a few words. */
export function short(input: unknown): string {
  if (input === undefined || input === null) return "";
  if (typeof input !== "object") return String(input).slice(0, 120);
  const values = Object.values(input).filter((value) => typeof value !== "object");
  return values
    .map((value) => String(value).slice(0, 120))
    .join(" ")
    .slice(0, 160);
}
