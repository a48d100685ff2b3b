/** Counts and latencies per minute, as plots and tables. */

import { fetchJson, path } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import type { Counts, Minute, Series } from "../data/types.js";
import { Empty, Loaded, Page } from "../parts/frame.js";
import { Plot, type Trace } from "../parts/plot.js";
import { link, route } from "../route.js";
import { bytes, count, labelOf, span, t } from "../words.js";
import { Choice } from "./sessions.js";

/** Colors of actions: what failed is red, what was repaired is green. */
const ACTION_HUES: Readonly<Record<string, string>> = {
  none: "5",
  observed: "1",
  fixed: "2",
  rejected: "0",
  failed: "bad",
};

export function MetricsPage() {
  const minutes = Number(route.value.query.get("minutes") ?? 60) || 60;
  const address = path(["console", "series"], { minutes });
  const { known } = usePoll(address, (signal) => fetchJson<Series>(address, { signal }), 5_000);
  return (
    <Page
      title={t("nav.metrics")}
      sub={t("metrics.about")}
      actions={
        <Choice
          label={t("metrics.span")}
          name="minutes"
          value={String(minutes)}
          options={[
            ["15", t("metrics.minutes", { n: 15 })],
            ["60", t("metrics.minutes", { n: 60 })],
            ["180", t("metrics.minutes", { n: 180 })],
            ["720", t("metrics.minutes", { n: 720 })],
          ]}
        />
      }
    >
      <Loaded known={known.value}>
        {(series) =>
          series.total.requests === 0 ? (
            <Empty icon="metrics" title={t("metrics.none")}>
              {t("feed.none.how")}
            </Empty>
          ) : (
            <Plots series={series} minutes={minutes} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Plots({ series, minutes }: { series: Series; minutes: number }) {
  const { total, step } = series;
  const end = Math.floor(Date.now() / step) * step;
  const times = Array.from({ length: minutes }, (_, at) => end - (minutes - 1 - at) * step);
  const byTime = new Map(
    series.minutes.map((minute) => [Math.floor(minute.at / step) * step, minute]),
  );
  const traces = (
    names: readonly string[],
    pick: (minute: Minute) => Counts,
    label: (name: string) => string,
    hues: Readonly<Record<string, string>> = {},
  ): Trace[] =>
    names.map((name) => ({
      name: label(name),
      hue: hues[name],
      values: times.map((at) => {
        const minute = byTime.get(at);
        return minute === undefined ? 0 : (pick(minute)[name] ?? 0);
      }),
    }));
  const latencies = (["p50", "p90", "p99"] as const).map((name) => ({
    name,
    values: times.map((at) => byTime.get(at)?.ms[name] ?? Number.NaN),
  }));
  const topNames = (counts: Counts) =>
    Object.entries(counts)
      .sort(([, one], [, other]) => other - one)
      .slice(0, 6)
      .map(([name]) => name);
  return (
    <>
      <div class="figures">
        <Figure name={t("metrics.requests")}>{count(total.requests)}</Figure>
        <Figure name={t("metrics.findings")}>{count(sum(total.findings))}</Figure>
        <Figure name={t("metrics.repairs")}>{count(sum(total.repairs))}</Figure>
        <Figure name={t("metrics.failed")}>{count(total.action.failed ?? 0)}</Figure>
        <Figure name={t("metrics.p50")}>{span(total.ms.p50)}</Figure>
        <Figure name={t("metrics.p99")}>{span(total.ms.p99)}</Figure>
        <Figure
          name={t("feed.bytes")}
        >{`${bytes(total.bytes_in)} → ${bytes(total.bytes_out)}`}</Figure>
      </div>
      <div class="plots">
        <Plot
          title={t("metrics.findings.by")}
          kind="bars"
          times={times}
          traces={traces(
            topNames(total.findings),
            ({ findings }) => findings,
            (name) => name,
          )}
          unit={count}
        />
        <Plot
          title={t("metrics.repairs.by")}
          kind="bars"
          times={times}
          traces={traces(
            topNames(total.repairs),
            ({ repairs }) => repairs,
            (name) => name,
          )}
          unit={count}
        />
        <Plot
          title={t("metrics.latency")}
          kind="lines"
          times={times}
          traces={latencies}
          unit={span}
        />
        <Plot
          title={t("metrics.actions")}
          kind="bars"
          times={times}
          traces={traces(
            topNames(total.action),
            ({ action }) => action,
            (name) => labelOf("action", name),
            ACTION_HUES,
          )}
          unit={count}
        />
      </div>
      <p class="muted">
        {t("metrics.rules")}{" "}
        {topNames(total.findings).map((code) => (
          <span key={code}>
            <a class="rule" href={link(["rules", code])}>
              {code}
            </a>{" "}
          </span>
        ))}
      </p>
    </>
  );
}

function Figure({ name, children }: { name: string; children: string }) {
  return (
    <div class="figure">
      <b>{children}</b>
      <span>{name}</span>
    </div>
  );
}

function sum(counts: Counts): number {
  return Object.values(counts).reduce((all, n) => all + n, 0);
}
