/** The findings of a session, in order. */

import { useSignal } from "@preact/signals";
import { useCallback } from "preact/hooks";

import { fetchJson, path } from "../../data/ask.js";
import type { FindingRow } from "../../data/types.js";
import { Empty, ErrorNote } from "../../parts/frame.js";
import { LongList } from "../../parts/long.js";
import { link } from "../../route.js";
import { labelOf, t } from "../../words.js";
import { editWord, findingText } from "../../words/rules.js";
import { useSlices } from "./slices.js";

export function FindingList({ id }: { id: string }) {
  const slices = useSlices<FindingRow>(id, (from, limit, signal) =>
    fetchJson(path(["console", "sessions", id, "findings"], { from, limit }), { signal }),
  );
  const active = useSignal(0);
  const seen = useCallback((from: number, to: number) => slices.setVisible(from, to), [slices]);
  void slices.changes.value;
  const total = slices.total.value;
  if (slices.error.value !== undefined) return <ErrorNote error={slices.error.value} />;
  if (total === undefined) return null;
  if (total === 0) return <Empty icon="check" title={t("session.valid")} />;
  return (
    <section class="panel fill">
      <LongList
        label={t("session.findings")}
        count={total}
        height={2.75}
        active={active}
        onSeen={seen}
        row={(index) => {
          const row = slices.row(index);
          const tabIndex = index === active.value ? 0 : -1;
          if (row === undefined) return <div class="row tall" data-stop tabIndex={tabIndex} />;
          const strategy = row.fix?.strategy ?? "none";
          const word = strategy === "none" ? null : editWord(strategy);
          return (
            <a
              class="row findings-grid tall"
              data-stop
              tabIndex={tabIndex}
              href={link(["sessions", id], { at: String(row.at ?? 0) })}
            >
              <span class="rule">{row.code}</span>
              <span class="two">
                <span class="cut">{findingText(row)}</span>
                <span class="cut muted">{row.name}</span>
              </span>
              <span class="soft">{word === null ? t("session.nofix") : labelOf("edit", word)}</span>
              <span class="right muted num">{row.at === null ? "" : `#${row.at}`}</span>
            </a>
          );
        }}
      />
    </section>
  );
}
