/** Untrusted text. It is always rendered as text, never as markup, and long text is cut. */

import { useSignal } from "@preact/signals";

import { bytes, count, t } from "../words.js";
import { CopyButton } from "./button.js";

/** How many characters are shown collapsed, and how many at most. */
const PREVIEW_CHARACTERS = 1_600;
const MAX_CHARACTERS = 200_000;

/** A text; long text is collapsed. `fullSize`: its size in bytes, if the server truncated it. */
export function Text(props: { text: string; fullSize?: number | null; class?: string }) {
  const { text, fullSize = null } = props;
  const open = useSignal(false);
  const isLong = text.length > PREVIEW_CHARACTERS + 400;
  const preview = isLong ? text.slice(0, PREVIEW_CHARACTERS) : text;
  const shown = open.value ? text.slice(0, MAX_CHARACTERS) : preview;
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
      {fullSize !== null && <p class="muted">{t("text.cut", { size: bytes(fullSize) })}</p>}
      {open.value && text.length > MAX_CHARACTERS && (
        <p class="muted">{t("text.limit", { n: MAX_CHARACTERS })}</p>
      )}
    </div>
  );
}

/** A JSON value as a tree; deep levels are collapsed. */
export function JsonTree({ value, open = 2 }: { value: unknown; open?: number }) {
  return (
    <div class="json">
      <Node value={value} depth={0} open={open} />
    </div>
  );
}

/** A text that may be JSON: shown as a tree if it is, as text otherwise. */
export function JsonText({ text, fullSize = null }: { text: string; fullSize?: number | null }) {
  const value = parsed(text);
  if (value === undefined || value === null || typeof value !== "object") {
    return <Text text={text} fullSize={fullSize} />;
  }
  return <JsonTree value={value} />;
}

/** A value: strings and lists of text blocks as text, everything else as JSON. */
export function Value({ value }: { value: unknown }) {
  if (typeof value === "string") return <Text text={value} />;
  const texts = textsOf(value);
  return texts === undefined ? <JsonTree value={value} /> : <Text text={texts} />;
}

const MAX_ITEMS = 100;

function Node({ value, depth, open }: { value: unknown; depth: number; open: number }) {
  const isOpen = useSignal(depth < open);
  const more = useSignal(MAX_ITEMS);
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
      <span class="str">"{text.slice(0, isLong && !open.value ? 400 : MAX_CHARACTERS)}"</span>
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
