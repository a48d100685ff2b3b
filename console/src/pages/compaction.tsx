/** Previews a compaction: which pairs a naive cut separates, and where Foxwedge cuts. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { fetchJson, path } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import type { Cut, SessionList } from "../data/types.js";
import { Badge } from "../parts/badge.js";
import { CommandLine } from "../parts/button.js";
import { Empty, Loaded, Page, ErrorNote } from "../parts/frame.js";
import { route, setQuery } from "../route.js";
import { bytes, count, labelOf, t } from "../words.js";
import { Ribbon } from "./compaction/ribbon.js";

export function CompactionPage() {
  const chosen = route.value.query.get("session") ?? "";
  const { known } = usePoll(
    "compaction sessions",
    (signal) =>
      fetchJson<SessionList>(path(["console", "sessions"], { source: "file", limit: 500 }), {
        signal,
      }),
    0,
  );
  const pasted = useSignal("");
  return (
    <Page title={t("nav.compaction")} sub={t("cut.about")}>
      <Loaded known={known.value}>
        {({ data }) => {
          const rows = [...data].sort((one, other) => (other.size ?? 0) - (one.size ?? 0));
          const id = chosen === "" ? (rows[0]?.id ?? "paste") : chosen;
          return (
            <>
              <div class="bar">
                <label class="bar">
                  <span class="soft">{t("cut.of")}</span>
                  <select
                    class="field cut-of"
                    value={id}
                    onChange={(event) => setQuery({ session: event.currentTarget.value })}
                  >
                    {rows.map((row) => (
                      <option key={row.id} value={row.id} selected={row.id === id}>
                        {`${(row.title ?? row.session).slice(0, 60)} · ${bytes(row.size ?? 0)}`}
                      </option>
                    ))}
                    <option value="paste" selected={id === "paste"}>
                      {t("cut.paste")}
                    </option>
                  </select>
                </label>
              </div>
              {id === "paste" ? (
                <PastedConversation text={pasted.value} change={(text) => (pasted.value = text)} />
              ) : (
                <CutView
                  key={id}
                  session={rows.find((row) => row.id === id)?.session}
                  load={(fraction, signal) =>
                    fetchJson(path(["console", "sessions", id, "compaction"], { fraction }), {
                      signal,
                    })
                  }
                />
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function PastedConversation({ text, change }: { text: string; change: (text: string) => void }) {
  const body = parsed(text);
  return (
    <>
      <label class="stack">
        <span class="soft">{t("cut.paste.how")}</span>
        <textarea
          class="field paste"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      </label>
      {text.trim() !== "" && body === undefined && <p class="note tone-warn">{t("cut.notjson")}</p>}
      {body !== undefined && (
        <CutView
          key={text}
          load={(fraction, signal) =>
            fetchJson("/v1/console/compaction", {
              method: "POST",
              body: { body, fraction },
              signal,
            })
          }
        />
      )}
    </>
  );
}

/** The slider and the preview of its cut. `session`: the session for the command that makes it. */
export function CutView(props: {
  session?: string | undefined;
  load: (fraction: number, signal: AbortSignal) => Promise<Cut>;
}) {
  const percent = useSignal(50);
  const cut = useSignal<Cut | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      props
        .load(percent.value / 100, abort.signal)
        .then((value) => {
          cut.value = value;
          error.value = undefined;
        })
        .catch((cause: Error) => {
          if (!abort.signal.aborted) error.value = cause;
        });
    }, 150);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [percent.value]);
  const known = cut.value;
  return (
    <div class="stack">
      <label class="slider">
        <span>{t("cut.keep")}</span>
        <input
          type="range"
          min={5}
          max={95}
          step={1}
          value={percent.value}
          aria-valuetext={`${percent.value} %`}
          onInput={(event) => (percent.value = Number(event.currentTarget.value))}
        />
        <output class="num">{percent.value} %</output>
      </label>
      {error.value !== undefined && <ErrorNote error={error.value} />}
      {known === undefined && error.value === undefined && <p class="muted" data-loading>{t("loading")}</p>}
      {known !== undefined && (
        <>
          <CommandLine
            label={t("cut.command")}
            command={`foxwedge compact ${props.session ?? "FILE"} --budget ${budgetOf(known, percent.value)}`}
          />
          <Ribbon cut={known} />
          <div class="two-columns">
            <CutSummary
              title={t("cut.naive")}
              sound={known.naive.sound}
              tokens={known.tokens.naive}
              before={known.tokens.before}
              at={known.naive.cut}
            />
            <CutSummary
              title={t("cut.ours")}
              sound={known.ours.sound}
              tokens={known.tokens.after}
              before={known.tokens.before}
              at={known.ours.cut}
            />
          </div>
          <Orphans cut={known} />
        </>
      )}
    </div>
  );
}

/** The tokens that the slider allows. */
function budgetOf(cut: Cut, percent: number): number {
  return Math.max(1, Math.round((cut.tokens.before * percent) / 100));
}

function CutSummary(props: {
  title: string;
  sound: boolean;
  tokens: number;
  before: number;
  at: number | null;
}) {
  const { title, sound, tokens, before, at } = props;
  return (
    <section class="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {sound ? (
          <Badge tone="ok" icon="check">
            <span data-sound="yes">{t("cut.valid")}</span>
          </Badge>
        ) : (
          <Badge tone="bad" icon="cross">
            <span data-sound="no">{t("cut.broken")}</span>
          </Badge>
        )}
      </header>
      <div class="inside figures">
        <div class="figure">
          <b>
            {count(before)} → {count(tokens)}
          </b>
          <span>{t("cut.tokens")}</span>
        </div>
        <div class="figure">
          <b>{before === 0 ? "–" : `${Math.round((tokens / before) * 100)} %`}</b>
          <span>{t("cut.kept")}</span>
        </div>
        <div class="figure">
          <b>{at === null ? "–" : `#${count(at)}`}</b>
          <span>{at === null ? t("cut.nonegone") : t("cut.at")}</span>
        </div>
      </div>
    </section>
  );
}

function Orphans({ cut }: { cut: Cut }) {
  const { orphans, orphans_total } = cut.naive;
  if (orphans.length === 0) return <Empty icon="check" title={t("cut.none")} />;
  return (
    <section class="panel">
      <header>
        <h2>{t("cut.orphans", { n: orphans_total })}</h2>
      </header>
      <table class="table">
        <thead>
          <tr>
            <th>{t("run.call")}</th>
            <th>{t("run.id")}</th>
            <th class="num">{t("cut.call")}</th>
            <th class="num">{t("cut.answer")}</th>
            <th>{t("cut.lost")}</th>
          </tr>
        </thead>
        <tbody>
          {orphans.slice(0, 200).map((orphan, at) => (
            <tr key={at}>
              <td>{orphan.call.name ?? "–"}</td>
              <td class="mono">{orphan.call.id}</td>
              <td class="num">#{orphan.call.message}</td>
              <td class="num">#{orphan.answer.message}</td>
              <td>
                <Badge tone="bad" icon="cross">
                  {labelOf("cut.half", orphan.lost)}
                </Badge>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
