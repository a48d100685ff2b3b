/** A session: the conversation, its findings, its branches and its records. */

import { useSignal } from "@preact/signals";

import { fetchJson, path } from "../data/ask.js";
import { usePoll } from "../data/poll.js";
import type { Applied, SessionView } from "../data/types.js";
import { announceText } from "../parts/announce.js";
import { Findings, HealthBadge } from "../parts/badge.js";
import { CommandLine, CopyButton, ConfirmButton } from "../parts/button.js";
import { Crumbs, Loaded, Page, errorText } from "../parts/frame.js";
import { Icon } from "../parts/icon.js";
import { TabPanel, Tabs } from "../parts/tabs.js";
import { link, route, setQuery } from "../route.js";
import { bytes, count, t } from "../words.js";
import { CutView } from "./compaction.js";
import { GatewayPage } from "./gateway.js";
import { Branches } from "./session/branches.js";
import { Conversation } from "./session/conversation.js";
import { FindingList } from "./session/findings.js";
import { Records } from "./session/records.js";

export function SessionPage({ id }: { id: string }) {
  return id.startsWith("f-") ? <FilePage id={id} /> : <GatewayPage id={id} />;
}

function FilePage({ id }: { id: string }) {
  const address = path(["console", "sessions", id]);
  const { known, refresh } = usePoll(
    address,
    (signal) => fetchJson<SessionView>(address, { signal }),
    5_000,
  );
  const view = known.value.value;
  const tab = route.value.query.get("tab") ?? "talk";
  return (
    <Page
      title={view?.title ?? view?.session ?? id}
      crumbs={
        <Crumbs page="sessions" id={view?.session ?? id} />
      }
      badge={view && <HealthBadge health={view.health} />}
      actions={view && <Actions id={id} view={view} done={refresh} />}
    >
      <Loaded known={known.value}>
        {(view) => (
          <>
            <Facts view={view} />
            <Tabs
              label={t("session.parts")}
              tabs={[
                { id: "talk", label: t("session.talk"), count: view.messages ?? undefined },
                { id: "findings", label: t("session.findings"), count: sum(view.findings) },
                {
                  id: "tree",
                  label: t("session.tree"),
                  count: view.branches.branch + view.branches.side,
                },
                { id: "cut", label: t("nav.compaction") },
                { id: "raw", label: t("session.raw"), count: view.records },
              ]}
              chosen={tab}
              choose={(next) => setQuery({ tab: next })}
            />
            <TabPanel id={tab} class="run-tab">
              {tab === "talk" && <Conversation key={view.version} id={id} />}
              {tab === "findings" && <FindingList key={view.version} id={id} />}
              {tab === "tree" && <Branches key={view.version} id={id} />}
              {tab === "raw" && <Records key={view.version} id={id} />}
              {tab === "cut" && (
                <CutView
                  key={view.version}
                  session={view.session}
                  load={(fraction, signal) =>
                    fetchJson(path(["console", "sessions", id, "compaction"], { fraction }), {
                      signal,
                    })
                  }
                />
              )}
            </TabPanel>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Actions({ id, view, done }: { id: string; view: SessionView; done: () => void }) {
  const error = useSignal<Error | undefined>(undefined);
  return (
    <>
      {error.value !== undefined && (
        <span class="soft" role="status">
          {errorText(error.value)}
        </span>
      )}
      {view.undo.available && (
        <ConfirmButton
          icon="undo"
          confirmLabel={t("repair.undo.sure")}
          disabled={view.undo.standing === "changed"}
          run={async () => {
            error.value = await undo(id);
            done();
          }}
        >
          {t("repair.undo")}
        </ConfirmButton>
      )}
      {sum(view.findings) > 0 && (
        <a class="button main-one" href={link(["sessions", id, "repair"])}>
          <Icon name="wrench" />
          {t("repair.open")}
        </a>
      )}
    </>
  );
}

/** Restores the file from before the last repair. */
export async function undo(id: string): Promise<Error | undefined> {
  try {
    await fetchJson<Applied>(path(["console", "sessions", id, "undo"]), {
      method: "POST",
      body: {},
    });
    announceText(t("repair.undone"));
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function Facts({ view }: { view: SessionView }) {
  const { calls } = view;
  return (
    <>
      {view.live.is && (
        <p class="note tone-run">
          <Icon name="live" />
          {view.live.who ?? t("sessions.live.about")}
        </p>
      )}
      {view.why != null && (
        <p class="note tone-warn">
          <Icon name="warn" />
          {view.why}
        </p>
      )}
      {view.undo.standing === "changed" && (
        <p class="note">
          <Icon name="undo" />
          {t("repair.changed")}
        </p>
      )}
      <div class="figures">
        <Figure name={t("sessions.messages")}>{count(view.messages ?? 0)}</Figure>
        <Figure
          name={t("session.answered")}
        >{`${count(calls.answered)} / ${count(calls.total)}`}</Figure>
        {calls.open > 0 && <Figure name={t("session.open")}>{count(calls.open)}</Figure>}
        {calls.placeholder > 0 && (
          <Figure name={t("session.placeholders")}>{count(calls.placeholder)}</Figure>
        )}
        {calls.elsewhere > 0 && (
          <Figure name={t("session.elsewhere")}>{count(calls.elsewhere)}</Figure>
        )}
        {calls.orphan + calls.duplicate > 0 && (
          <Figure name={t("session.orphans")}>{count(calls.orphan + calls.duplicate)}</Figure>
        )}
        {view.branches.boundaries > 0 && (
          <Figure name={t("session.boundaries")}>{count(view.branches.boundaries)}</Figure>
        )}
        <Figure name={t("sessions.size")}>{bytes(view.size ?? 0)}</Figure>
        <div class="figure wide">
          <Findings counts={view.findings} />
          <span>{t("sessions.findings")}</span>
        </div>
      </div>
      {view.resume !== null && view.health === "ok" && (
        <CommandLine label={t("session.resume")} command={view.resume} />
      )}
      <p class="muted facts-line">
        {[view.product ?? view.agent, view.agent_version, view.model].filter(Boolean).join(" · ")}
        {view.path !== undefined && (
          <>
            {" · "}
            <span class="mono">{view.path}</span> <CopyButton text={view.path} label={t("copy")} />
          </>
        )}
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

function sum(counts: Readonly<Record<string, number>> | null): number {
  return Object.values(counts ?? {}).reduce((all, n) => all + n, 0);
}
