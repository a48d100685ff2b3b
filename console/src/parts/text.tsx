/** Texts of others. Always text, never markup, and never more of it than a person can take in. */

import { useSignal } from "@preact/signals";

import { bytes, count, t } from "../words.js";
import { CopyButton } from "./button.js";

/** So much is shown at once, and at most. */
const SHORT = 1_600;
const MOST = 200_000;

/** A text, cut where it is long. `whole`: bytes that it really has, if the server cut it. */
export function Text(props: { text: string; whole?: number | null; class?: string }) {
  const { text, whole = null } = props;
  const open = useSignal(false);
  const isLong = text.length > SHORT + 400;
  const shown = open.value ? text.slice(0, MOST) : isLong ? text.slice(0, SHORT) : text;
  return (
    <div class={`text ${props.class ?? ""}`}>
      <pre>{shown}</pre>
      {isLong && (
        <button
          type="button"
          class="button small quiet"
          aria-expanded={open.value}
          onClick={() => (open.value = !open.value)}
        >
          {open.value ? t("text.less") : t("text.more", { n: text.length })}
        </button>
      )}
      {whole !== null && <p class="muted">{t("text.cut", { size: bytes(whole) })}</p>}
      {open.value && text.length > MOST && <p class="muted">{t("text.most", { n: MOST })}</p>}
    </div>
  );
}

/** Any JSON, folded where it is deep. */
export function JsonTree({ value, open = 2 }: { value: unknown; open?: number }) {
  return (
    <div class="json">
      <Node value={value} depth={0} open={open} />
    </div>
  );
}

/** JSON in a text; a text that is none is shown as it is. */
export function JsonText({ text, whole = null }: { text: string; whole?: number | null }) {
  const value = parsed(text);
  if (value === undefined || value === null || typeof value !== "object") {
    return <Text text={text} whole={whole} />;
  }
  return <JsonTree value={value} />;
}

/** What a value says to a person: a text as it is, everything else as JSON. */
export function Value({ value }: { value: unknown }) {
  if (typeof value === "string") return <Text text={value} />;
  const texts = textsOf(value);
  return texts === undefined ? <JsonTree value={value} /> : <Text text={texts} />;
}

const MOST_ITEMS = 100;

function Node({ value, depth, open }: { value: unknown; depth: number; open: number }) {
  const isOpen = useSignal(depth < open);
  const more = useSignal(MOST_ITEMS);
  if (typeof value === "string") return <StringNode text={value} />;
  if (value === null || typeof value !== "object") return <span class="lit">{String(value)}</span>;
  const isList = Array.isArray(value);
  const all = Object.entries(value);
  const [left, right] = isList ? ["[", "]"] : ["{", "}"];
  if (all.length === 0) return <span>{left + right}</span>;
  const toggle = (
    <button
      type="button"
      aria-expanded={isOpen.value}
      onClick={() => (isOpen.value = !isOpen.value)}
    >
      <span class="unseen">{t("json.fold")}</span>
      {isOpen.value ? "▾" : "▸"} {left}
      {isOpen.value ? "" : ` ${count(all.length)} ${right}`}
    </button>
  );
  if (!isOpen.value) return toggle;
  return (
    <>
      {toggle}
      <div class="in">
        {all.slice(0, more.value).map(([key, inside]) => (
          <div key={key}>
            {!isList && <span class="key">{JSON.stringify(key)}: </span>}
            <Node value={inside} depth={depth + 1} open={open} />
          </div>
        ))}
        {all.length > more.value && (
          <button type="button" onClick={() => (more.value += 500)}>
            {t("json.more", { n: all.length - more.value })}
          </button>
        )}
      </div>
      {right}
    </>
  );
}

function StringNode({ text }: { text: string }) {
  const open = useSignal(false);
  const isLong = text.length > 600;
  return (
    <>
      <span class="str">"{isLong && !open.value ? text.slice(0, 400) : text.slice(0, MOST)}"</span>
      {isLong && (
        <>
          {" "}
          <button
            type="button"
            aria-expanded={open.value}
            onClick={() => (open.value = !open.value)}
          >
            {open.value ? t("text.less") : t("text.more", { n: text.length })}
          </button>
          <CopyButton text={text} label={t("copy")} />
        </>
      )}
    </>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function textsOf(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const texts: string[] = [];
  for (const item of value as unknown[]) {
    const { type, text } = (item ?? {}) as { type?: unknown; text?: unknown };
    if (type !== "text" || typeof text !== "string") return undefined;
    texts.push(text);
  }
  return texts.join("\n");
}
