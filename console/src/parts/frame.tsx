/** The page frame: head, body, and notes for errors and empty pages. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { HttpError, Unreachable } from "../data/ask.js";
import type { PollState } from "../data/poll.js";
import { link } from "../route.js";
import { clock, labelOf, t } from "../words.js";
import { CopyButton } from "./button.js";
import { Icon, type IconName } from "./icon.js";

export function Page(props: {
  title: string;
  badge?: ComponentChildren;
  sub?: ComponentChildren;
  crumbs?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { title, badge, sub, crumbs, actions, children } = props;
  useTitle(title);
  return (
    <>
      <div class="page-head">
        {crumbs !== undefined && (
          <nav class="crumbs" aria-label={t("crumbs")}>
            {crumbs}
          </nav>
        )}
        <h1 class="cut" title={title}>
          {title}
        </h1>
        {badge}
        {sub !== undefined && <span class="sub">{sub}</span>}
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      <div class="page-body">{children}</div>
    </>
  );
}

/** Names the browser tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Foxwedge`;
    return () => {
      document.title = "Foxwedge";
    };
  }, [title]);
}

/** The way to a page: its list, a short id that can be copied whole, and its name. */
export function Crumbs(props: {
  page: "sessions" | "runs" | "feed";
  id: string;
  /** The page of the id, if this page is below it. */
  to?: readonly string[];
  last?: string;
  children?: ComponentChildren;
}) {
  const { page, id, to, last, children } = props;
  const short = shortId(id);
  return (
    <>
      <a href={link([page])}>{t(`nav.${page}`)}</a>
      <span>/</span>
      {to === undefined ? (
        <span class="mono" title={id}>
          {short}
        </span>
      ) : (
        <a class="mono" title={id} href={link(to)}>
          {short}
        </a>
      )}
      <CopyButton text={id} label={t("copy.id")} />
      {last !== undefined && (
        <>
          <span>/</span>
          <span>{last}</span>
        </>
      )}
      {children}
    </>
  );
}

/** The beginning of a long id. */
export function shortId(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 12)}…`;
}

export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <b>{props.title}</b>
      {props.children !== undefined && <div>{props.children}</div>}
    </div>
  );
}

/** An error, and the time of the shown data if it is out of date. */
export function ErrorNote({ error, at }: { error: Error; at?: number | undefined }) {
  return (
    <div class="note tone-warn" role="status">
      <Icon name={error instanceof Unreachable ? "plug" : "warn"} />
      <div>
        <b>{errorText(error)}</b>
        {at !== undefined && <div>{t("error.stale", { at: clock(at) })}</div>}
      </div>
    </div>
  );
}

/** Renders a polled value; otherwise its error, or that it is loading. */
export function Loaded<T>(props: {
  known: PollState<T>;
  children: (value: T) => ComponentChildren;
}) {
  const { value, error, at } = props.known;
  if (value === undefined) {
    if (error !== undefined) return <ErrorNote error={error} />;
    return (
      <p class="muted" role="status" data-loading>
        {t("loading")}
      </p>
    );
  }
  return (
    <>
      {error !== undefined && <ErrorNote error={error} at={at} />}
      {props.children(value)}
    </>
  );
}

/** Errors whose message names the reason. */
const DETAILED = ["session_unreadable", "repair_failed", "bad_request", "invalid_body"];

/** The text for an error. */
export function errorText(error: Error): string {
  if (error instanceof Unreachable) return t("error.unreachable");
  if (error instanceof HttpError) {
    const text = labelOf("refused", error.code);
    if (text === error.code) return error.message;
    return DETAILED.includes(error.code) ? `${text} (${error.message})` : text;
  }
  return error.message;
}
