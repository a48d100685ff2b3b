/** A message in readable form. A tool call and its result are drawn together, as a joint. */

import type { CallState, Message, MessagePart } from "../data/types.js";
import { bytes, clock, labelOf, t } from "../words.js";
import { Badge, type Tone } from "./badge.js";
import { Icon, type IconName } from "./icon.js";
import { JsonText, Text } from "./text.js";

const ROLES: Readonly<Record<string, IconName>> = {
  user: "user",
  assistant: "model",
  tool: "tool",
};

export function MessageHead({ message }: { message: Message }) {
  const { role, index, time, line, beside } = message;
  return (
    <header class="message-head">
      <Icon name={ROLES[role] ?? "unknown"} />
      <b>{labelOf("role", role)}</b>
      <span class="muted num">#{index}</span>
      {time != null && <span class="muted num">{clock(Date.parse(time))}</span>}
      {line != null && <span class="muted num">{t("message.line", { n: line })}</span>}
      {beside != null && beside.branch > 0 && (
        <Badge tone="rest" icon="branch" plain>
          {t("message.branch", { n: beside.branch })}
        </Badge>
      )}
      {beside != null && beside.side > 0 && (
        <Badge tone="rest" icon="runs" plain>
          {t("message.side", { n: beside.side })}
        </Badge>
      )}
    </header>
  );
}

/** The parts of a message. `bare`: without the pairing state of tool calls. */
export function Parts({ parts, bare = false }: { parts: readonly MessagePart[]; bare?: boolean }) {
  return (
    <>
      {parts.map((part, at) => (
        <PartView key={at} part={part} bare={bare} />
      ))}
    </>
  );
}

function PartView({ part, bare }: { part: MessagePart; bare: boolean }) {
  switch (part.type) {
    case "text":
      return <Text text={part.text} fullSize={part.cut} />;
    case "thinking":
      return (
        <details class="thought">
          <summary>
            {t("part.thought")}
            {part.sealed && <span class="muted"> · {t("part.sealed")}</span>}
          </summary>
          <Text text={part.text} fullSize={part.cut} />
        </details>
      );
    case "call":
      return <Joint call={bare ? { ...part, state: undefined } : part} />;
    case "answer":
      return (
        <div
          class={`joint lone ${part.state === "orphan" || part.state === "duplicate" ? "broken" : ""}`}
        >
          <div class="half answer">
            <HalfHead icon="answered" name={part.name ?? t("part.answer")} id={part.id}>
              {part.state === "orphan" && (
                <Badge tone="bad" icon="cross">
                  {t("pair.orphan")}
                </Badge>
              )}
              {part.state === "duplicate" && (
                <Badge tone="warn" icon="warn">
                  {t("pair.duplicate")}
                </Badge>
              )}
              {part.error && (
                <Badge tone="bad" icon="cross">
                  {t("pair.error")}
                </Badge>
              )}
            </HalfHead>
            <Parts parts={part.parts} />
          </div>
        </div>
      );
    case "media":
      return (
        <p class="muted">
          {t("part.media", { kind: part.media_type ?? part.kind, size: bytes(part.size ?? 0) })}
          {part.name !== null && ` · ${part.name}`}
        </p>
      );
    case "other":
      return (
        <details class="thought">
          <summary>{part.name}</summary>
          <JsonText text={part.text} fullSize={part.cut} />
        </details>
      );
  }
}

const STATES: Readonly<Record<CallState, readonly [Tone, IconName]>> = {
  answered: ["ok", "check"],
  failed: ["bad", "cross"],
  elsewhere: ["warn", "moved"],
  placeholder: ["rest", "answered"],
  open: ["bad", "warn"],
};

type Call = Extract<MessagePart, { type: "call" }>;

function Joint({ call }: { call: Call }) {
  const { state, answer } = call;
  const [tone, icon] = STATES[state ?? "answered"];
  const isBroken = state === "open" || state === "elsewhere";
  const resultParts = answer?.parts;
  return (
    <div class={`joint ${isBroken ? "broken" : ""} ${resultParts === undefined ? "lone" : ""}`}>
      <div class="half call">
        <HalfHead icon="tool" name={call.name} id={call.id}>
          {state !== undefined && (
            <Badge tone={tone} icon={icon}>
              <span data-pair={state}>{labelOf("pair", state)}</span>
            </Badge>
          )}
        </HalfHead>
        <JsonText text={call.arguments} fullSize={call.cut} />
      </div>
      {answer != null && resultParts !== undefined && (
        <div class="half answer">
          <HalfHead
            icon="answered"
            name={t("part.answer")}
            id={t("message.number", { n: answer.message })}
          >
            {answer.error && (
              <Badge tone="bad" icon="cross">
                {t("pair.error")}
              </Badge>
            )}
          </HalfHead>
          <Parts parts={resultParts} />
        </div>
      )}
      {answer == null && state === "open" && <p class="half missing">{t("pair.open.about")}</p>}
    </div>
  );
}

function HalfHead(props: {
  icon: IconName;
  name: string;
  id: string;
  children?: preact.ComponentChildren;
}) {
  return (
    <div class="half-head">
      <Icon name={props.icon} />
      <b>{props.name}</b>
      <span class="muted mono cut">{props.id}</span>
      <span class="end">{props.children}</span>
    </div>
  );
}
