/** A live run. All statuses come from the reducer. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { fetchJson, path } from "../data/ask.js";
import { now } from "../data/clock.js";
import { type ConnectionState, LiveRun } from "../data/live.js";
import { announce, clearAnnouncements } from "../parts/announce.js";
import { Badge, RunBadge } from "../parts/badge.js";
import { ConfirmButton } from "../parts/button.js";
import { Crumbs, Empty, Page, errorText } from "../parts/frame.js";
import { Icon, type IconName } from "../parts/icon.js";
import { LongList } from "../parts/long.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { JsonTree, Text } from "../parts/text.js";
import { link, route, setQuery } from "../route.js";
import type { RunSnapshot, TaskTruth } from "../run.js";
import { clock, count, labelOf, span, t } from "../words.js";
import { CallPanel } from "./run/call.js";
import { Inspector } from "./run/inspector.js";
import { keyOf } from "./run/order.js";
import { Questions } from "./run/questions.js";
import { Waterfall } from "./run/waterfall.js";
import { CallCounts } from "./runs.js";

export function RunPage({ id }: { id: string }) {
  const live = useMemo(() => new LiveRun(id, announce), [id]);
  useEffect(
    () => () => {
      live.close();
      clearAnnouncements();
    },
    [live],
  );
  const { run, tasks } = live.view.value;
  const connection = live.connection.value;
  const firstTab = useRef<string>(undefined);
  if (run !== undefined) firstTab.current ??= tabWithContent(run, tasks);
  const tab = route.value.query.get("tab") ?? firstTab.current ?? "calls";
  const isOver = run?.phase === "ended";
  // Without a connection it is unknown whether the run still makes progress.
  const frozen = !isOver && connection.type !== "connected";
  const { started } = live.notes;
  const title = [started?.agent, started?.model].filter(Boolean).join(" · ") || id;
  const isWaiting = run?.tools.some(({ status }) => status === "awaiting_approval") === true;
  return (
    <Page
      title={title}
      crumbs={
        <Crumbs page="runs" id={id}>
          {started?.session !== undefined && (
            <a href={link(["sessions", started.session])}>{t("run.session")}</a>
          )}
        </Crumbs>
      }
      badge={run && <RunBadge phase={run.phase} outcome={run.outcome} frozen={frozen} />}
      actions={
        run !== undefined && !isOver ? (
          <StopButton id={id} stopping={run.phase === "stopping"} />
        ) : undefined
      }
    >
      <Connection connection={connection} isOver={isOver} known={run !== undefined} />
      {run !== undefined && (
        <>
          <Figures live={live} run={run} frozen={frozen} />
          {run.error !== undefined && (
            <div class="note tone-bad">
              <Icon name="cross" />
              <div>
                <b>{labelOf("refused", run.error.code ?? "") || t("outcome.failed")}</b>
                <Text text={run.error.message} />
              </div>
            </div>
          )}
          {isWaiting && <Questions run={id} />}
          <Tabs
            label={t("run.parts")}
            tabs={[
              { id: "calls", label: t("run.calls"), count: run.summary.calls },
              { id: "said", label: t("run.text"), count: run.texts.length },
              { id: "tasks", label: t("run.tasks"), count: tasks.length },
              { id: "events", label: t("run.events"), count: live.lines.length + live.omitted },
              { id: "more", label: t("run.more") },
            ]}
            chosen={tab}
            choose={(next) => setQuery({ tab: next })}
          />
          <div class="run-tab" aria-busy={!isOver && connection.type === "connected"}>
            {tab === "calls" && <Calls live={live} run={run} frozen={frozen} />}
            {tab === "said" && <OutputTab run={run} />}
            {tab === "tasks" && <Tasks tasks={tasks} frozen={frozen || isOver} />}
            {tab === "events" && (
              <TabPanel id="events" class="fill">
                <Inspector live={live} />
              </TabPanel>
            )}
            {tab === "more" && <More live={live} run={run} />}
          </div>
        </>
      )}
      {run === undefined && connection.type === "over" && (
        <Empty icon="runs" title={t("run.nothing")} />
      )}
    </Page>
  );
}

/** The first tab that has something; undefined while none has. */
function tabWithContent(run: RunSnapshot, tasks: readonly TaskTruth[]): string | undefined {
  if (run.summary.calls > 0) return "calls";
  if (run.texts.length > 0) return "said";
  if (tasks.length > 0) return "tasks";
  return run.phase === "ended" ? "events" : undefined;
}

/** A note if the shown state is not current. */
function Connection(props: {
  connection: ConnectionState;
  isOver: boolean;
  known: boolean;
}) {
  const { connection, isOver, known } = props;
  switch (connection.type) {
    case "connecting":
      return known ? null : (
        <p class="muted" role="status">
          {t("loading")}
        </p>
      );
    case "lost": {
      if (isOver) return null;
      const wait = Math.max(0, Math.ceil((connection.retryAt - now.value) / 1_000));
      return (
        <div class="note tone-warn" role="status" data-line="lost">
          <Icon name="plug" />
          <div>
            <b>{t("run.lost", { at: clock(connection.since) })}</b>{" "}
            {wait > 0 ? t("run.again", { n: wait }) : t("run.trying")}
            <div class="soft">{t("run.lost.about")}</div>
          </div>
        </div>
      );
    }
    case "refused":
      return (
        <div class="note tone-bad" role="status">
          <Icon name="cross" />
          {connection.status === 404
            ? t("refused.run_not_found")
            : t("run.refused", { n: connection.status })}
        </div>
      );
    case "connected":
    case "over":
      return null;
  }
}

function StopButton({ id, stopping }: { id: string; stopping: boolean }) {
  const error = useSignal<Error | undefined>(undefined);
  return (
    <>
      {error.value !== undefined && <span class="soft">{errorText(error.value)}</span>}
      <ConfirmButton
        icon="stop"
        confirmLabel={t("run.stop.sure")}
        disabled={stopping}
        run={async () => {
          try {
            await fetchJson(path(["runs", id, "stop"]), { method: "POST", body: {} });
            error.value = undefined;
          } catch (cause) {
            error.value = cause as Error;
          }
        }}
      >
        {stopping ? t("run.stopping") : t("run.stop")}
      </ConfirmButton>
    </>
  );
}

function Figures({ live, run, frozen }: { live: LiveRun; run: RunSnapshot; frozen: boolean }) {
  const { notes } = live;
  const start = notes.startedAt;
  const isOver = run.phase === "ended";
  const end = isOver ? notes.endedAt : frozen ? notes.lastAt : now.value;
  const { usage, summary } = run;
  return (
    <div class="figures">
      <Figure name={isOver ? t("run.took") : t("run.sofar")}>
        {start === undefined || end === undefined ? "–" : span(end - start)}
      </Figure>
      <Figure name={t("run.calls")}>{count(summary.calls)}</Figure>
      {usage.input + usage.output > 0 && (
        <Figure
          name={
            usage.cached === 0
              ? t("run.tokens")
              : t("run.tokens.cached", { n: Math.round((usage.cached / usage.input) * 100) })
          }
        >{`${count(usage.input)} → ${count(usage.output)}`}</Figure>
      )}
      <div class="figure wide">
        <CallCounts counts={summary.byStatus as Record<string, number>} total={summary.calls} />
        <span>{t("run.bystatus")}</span>
      </div>
    </div>
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

function Calls({ live, run, frozen }: { live: LiveRun; run: RunSnapshot; frozen: boolean }) {
  const chosen = useSignal(route.peek().query.get("call") ?? "");
  useEffect(() => {
    if (chosen.value !== (route.peek().query.get("call") ?? "")) setQuery({ call: chosen.value });
  }, [chosen.value]);
  const tool = run.tools.find((one) => keyOf(one) === chosen.value);
  return (
    <TabPanel id="calls" class="calls">
      <section class="panel fill">
        <Waterfall live={live} run={run} chosen={chosen} frozen={frozen} />
      </section>
      {tool !== undefined && (
        <CallPanel
          key={chosen.value}
          live={live}
          run={run}
          tool={tool}
          frozen={frozen}
          choose={(key) => (chosen.value = key)}
        />
      )}
    </TabPanel>
  );
}

function OutputTab({ run }: { run: RunSnapshot }) {
  const active = useSignal(0);
  const { texts } = run;
  const names = useMemo(
    () => new Map(run.tools.map(({ call, name }) => [call, name ?? call])),
    [run.tools],
  );
  return (
    <TabPanel id="said" class="fill">
      {texts.length === 0 ? (
        <Empty icon="model" title={run.phase === "ended" ? t("run.notext") : t("run.notext.yet")} />
      ) : (
        <section class="panel fill">
          <LongList
            label={t("run.text")}
            count={texts.length}
            height={5}
            measured
            stick={run.phase !== "ended"}
            active={active}
            row={(index) => {
              const text = texts[index];
              if (text === undefined) return null;
              return (
                <article
                  class={`said ${text.kind}`}
                  data-stop
                  tabIndex={index === active.value ? 0 : -1}
                >
                  <header>
                    <Icon name={text.kind === "thought" ? "unknown" : "model"} />
                    {text.kind === "thought" ? t("part.thought") : t("role.assistant")}
                    {text.parent !== undefined && (
                      <span class="muted">
                        {t("run.of", { tool: names.get(text.parent) ?? text.parent })}
                      </span>
                    )}
                    {!text.complete && run.phase !== "ended" && (
                      <span class="muted">{t("run.streaming")}</span>
                    )}
                  </header>
                  <Text text={text.text} />
                </article>
              );
            }}
          />
        </section>
      )}
    </TabPanel>
  );
}

const TASKS: Readonly<
  Record<TaskTruth["status"], readonly ["ok" | "run" | "rest" | "warn", IconName]>
> = {
  completed: ["ok", "check"],
  in_progress: ["run", "dot"],
  pending: ["rest", "ring"],
  paused: ["warn", "pause"],
  unknown: ["rest", "unknown"],
};

function Tasks({ tasks, frozen }: { tasks: readonly TaskTruth[]; frozen: boolean }) {
  return (
    <TabPanel id="tasks">
      {tasks.length === 0 ? (
        <Empty icon="check" title={t("run.notasks")} />
      ) : (
        <section class="panel">
          <ol class="tasks">
            {tasks.slice(0, 1_000).map((task, index) => {
              const [tone, icon] = TASKS[task.status];
              return (
                <li key={task.id ?? index}>
                  <Badge tone={tone} icon={icon} pulse={task.status === "in_progress" && !frozen}>
                    <span data-task={task.status}>{labelOf("task", task.status)}</span>
                  </Badge>
                  <span>
                    {task.status === "in_progress" ? (task.active ?? task.content) : task.content}
                  </span>
                </li>
              );
            })}
          </ol>
        </section>
      )}
    </TabPanel>
  );
}

function More({ live, run }: { live: LiveRun; run: RunSnapshot }) {
  const { notes } = live;
  const { counts } = run;
  return (
    <TabPanel id="more" class="stack">
      <section class="panel">
        <header>
          <h2>{t("run.log")}</h2>
        </header>
        <div class="inside">
          <dl class="facts">
            <dt>{t("run.accepted")}</dt>
            <dd class="num">{count(counts.accepted)}</dd>
            <dt>{t("run.repeated")}</dt>
            <dd class="num">{count(counts.repeated)}</dd>
            <dt>{t("run.late")}</dt>
            <dd class="num">{count(counts.late)}</dd>
            <dt>{t("run.missing")}</dt>
            <dd class="num">{count(counts.missing)}</dd>
            <dt>{t("run.epoch")}</dt>
            <dd class="num">{count(run.epoch)}</dd>
            <dt>{t("run.tokens.reasoning")}</dt>
            <dd class="num">{count(run.usage.reasoning)}</dd>
          </dl>
        </div>
      </section>
      {notes.available !== undefined && (
        <section class="panel">
          <header>
            <h2>{t("run.available")}</h2>
          </header>
          <div class="inside chips">
            {notes.available.slice(0, 300).map((name) => (
              <span key={name} class="rule">
                {name}
              </span>
            ))}
          </div>
        </section>
      )}
      {[...notes.cards.values()].map((card, index) => (
        <section key={card.id ?? index} class="panel">
          <header>
            <h2>{labelOf("card", card.kind)}</h2>
          </header>
          <div class="inside">
            <JsonTree value={card.content.value} />
          </div>
        </section>
      ))}
      {notes.problems.length > 0 && (
        <section class="panel">
          <header>
            <h2>{t("run.problems")}</h2>
          </header>
          <ul class="inside stack">
            {notes.problems.map((problem, index) => (
              <li key={index}>
                {problem.code !== undefined && <span class="rule">{problem.code}</span>}{" "}
                {problem.message}
              </li>
            ))}
          </ul>
        </section>
      )}
    </TabPanel>
  );
}
