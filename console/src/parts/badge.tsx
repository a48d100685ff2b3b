/** States as an icon and a label. The color carries no extra information. */

import type { ComponentChildren } from "preact";

import type { Health } from "../data/types.js";
import type { Reason, Status } from "../run.js";
import { labelOf, t } from "../words.js";
import { Icon, type IconName } from "./icon.js";

export type Tone = "ok" | "bad" | "warn" | "run" | "ask" | "rest";

export function Badge(props: {
  tone: Tone;
  icon: IconName;
  children: ComponentChildren;
  pulse?: boolean;
  plain?: boolean;
  title?: string;
}) {
  const { tone, icon, children, pulse = false, plain = false, title } = props;
  return (
    <span class={`badge tone-${tone}${plain ? " plain" : ""}`} title={title}>
      <Icon name={icon} class={pulse ? "pulse" : ""} />
      {children}
    </span>
  );
}

const STATUS: Readonly<Record<Status, readonly [Tone, IconName]>> = {
  unknown: ["rest", "unknown"],
  pending: ["rest", "ring"],
  awaiting_approval: ["ask", "ask"],
  running: ["run", "dot"],
  succeeded: ["ok", "check"],
  failed: ["bad", "cross"],
  denied: ["bad", "slash"],
  cancelled: ["rest", "slash"],
  interrupted: ["warn", "warn"],
  handed_over: ["ask", "arrow"],
};

export function toneOf(status: Status): Tone {
  return STATUS[status][0];
}

/** The status of a call. `frozen`: the status may be out of date, so nothing is animated. */
export function StatusBadge(props: {
  status: Status;
  reason?: Reason | undefined;
  frozen?: boolean;
  plain?: boolean;
}) {
  const { status, reason, frozen = false, plain = false } = props;
  const [tone, icon] = STATUS[status];
  const label = labelOf("status", status);
  return (
    <Badge tone={tone} icon={icon} pulse={status === "running" && !frozen} plain={plain}>
      <span data-status={status}>
        {label}
        {reason === undefined ? "" : ` · ${labelOf("reason", reason)}`}
      </span>
    </Badge>
  );
}

const OUTCOME: Readonly<Record<string, readonly [Tone, IconName]>> = {
  completed: ["ok", "check"],
  stopped: ["rest", "stop"],
  failed: ["bad", "cross"],
  no_text: ["warn", "unknown"],
  max_turns: ["warn", "slash"],
  refused: ["bad", "slash"],
  replaced: ["rest", "arrow"],
  interrupted: ["warn", "warn"],
};

/** The phase of a run, or its outcome. */
export function RunBadge(props: { phase: string; outcome?: string | undefined; frozen?: boolean }) {
  const { phase, outcome, frozen = false } = props;
  if (phase === "ended") {
    const [tone, icon] = OUTCOME[outcome ?? ""] ?? ["rest", "unknown"];
    return (
      <Badge tone={tone} icon={icon}>
        <span data-outcome={outcome ?? "unknown"}>{labelOf("outcome", outcome ?? "unknown")}</span>
      </Badge>
    );
  }
  const label = phase === "stopping" ? t("run.stopping") : t("run.running");
  return (
    <Badge tone="run" icon="dot" pulse={!frozen}>
      <span data-outcome="open">{label}</span>
    </Badge>
  );
}

const HEALTH: Readonly<Record<Health, readonly [Tone, IconName]>> = {
  ok: ["ok", "check"],
  "history-missing": ["warn", "warn"],
  "needs-repair": ["bad", "cross"],
  unreadable: ["rest", "unknown"],
  unknown: ["rest", "ring"],
  repaired: ["ok", "wrench"],
  refused: ["bad", "slash"],
};

export function HealthBadge({ health }: { health: Health }) {
  const [tone, icon] = HEALTH[health] ?? ["rest", "unknown"];
  return (
    <Badge tone={tone} icon={icon} title={labelOf("health.about", health)}>
      <span data-health={health}>{labelOf("health", health)}</span>
    </Badge>
  );
}

/** The rules with findings, and how many findings each has. */
export function Findings({
  counts,
}: {
  counts: Readonly<Record<string, number>> | null | undefined;
}) {
  const all = Object.entries(counts ?? {});
  if (all.length === 0) return <span class="muted">–</span>;
  const seen = all.slice(0, 3);
  return (
    <span class="bar findings">
      {seen.map(([code, n]) => (
        <span class="rule" key={code}>
          {code}
          {n > 1 ? ` ×${n}` : ""}
        </span>
      ))}
      {all.length > seen.length && <span class="muted">+{all.length - seen.length}</span>}
    </span>
  );
}
