/** What pages stand in: a head, a body, and honest words where there is nothing to show. */

import type { ComponentChildren } from "preact";

import { Refused, Unreachable } from "../data/ask.js";
import type { Known } from "../data/poll.js";
import { clock, maybe, t } from "../words.js";
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

export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <b>{props.title}</b>
      {props.children !== undefined && <div>{props.children}</div>}
    </div>
  );
}

/** What went wrong, in words. */
export function Trouble({ error, at }: { error: Error; at?: number | undefined }) {
  return (
    <div class="note tone-warn" role="status">
      <Icon name={error instanceof Unreachable ? "plug" : "warn"} />
      <div>
        <b>{wordsFor(error)}</b>
        {at !== undefined && <div>{t("trouble.old", { at: clock(at) })}</div>}
      </div>
    </div>
  );
}

/** A value if it is known; else why not, or that it is on its way. */
export function Loaded<T>(props: { known: Known<T>; children: (value: T) => ComponentChildren }) {
  const { value, error, at } = props.known;
  if (value === undefined) {
    if (error !== undefined) return <Trouble error={error} />;
    return (
      <p class="muted" role="status">
        {t("loading")}
      </p>
    );
  }
  return (
    <>
      {error !== undefined && <Trouble error={error} at={at} />}
      {props.children(value)}
    </>
  );
}

/** An error as a sentence. */
export function wordsFor(error: Error): string {
  if (error instanceof Unreachable) return t("trouble.unreachable");
  if (error instanceof Refused) {
    const known = maybe("refused", error.code);
    return known === error.code ? error.message : known;
  }
  return error.message;
}
