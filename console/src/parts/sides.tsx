/** Before and after a repair: its edits, most important first, and the messages side by side. */

import type { EditRow, Message, PlanRow } from "../data/types.js";
import { link } from "../route.js";
import { count, labelOf, plural, t } from "../words.js";
import { EDIT_ORDER, editText, editWord } from "../words/rules.js";
import { Icon, isIcon } from "./icon.js";
import { MessageHead, Parts } from "./message.js";

/** The parts of an edit that are shown. */
export type ShownEdit = Pick<EditRow, "code" | "name" | "strategy" | "note" | "calls">;

/** Edits with the same text, shown as one. */
interface EditGroup {
  readonly word: string;
  readonly edit: ShownEdit;
  readonly count: number;
}

/** How many edits are listed before the rest is folded. */
const LISTED = 12;

/** Groups edits: the most important first, and all removed thinking in one row. */
export function groupEdits(edits: readonly ShownEdit[]): readonly EditGroup[] {
  const groups = new Map<string, { word: string; edit: ShownEdit; count: number }>();
  for (const edit of edits) {
    const word = editWord(edit.strategy);
    const key = word === "thinking" ? word : `${word} ${edit.code} ${edit.note}`;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, { word, edit, count: 1 });
    else known.count += 1;
  }
  const rank = ({ word }: EditGroup) => (EDIT_ORDER.indexOf(word) + 1 || EDIT_ORDER.length) - 1;
  return [...groups.values()].sort((one, other) => rank(one) - rank(other));
}

/** What a repair does, as a list. */
export function EditList({ edits, total }: { edits: readonly ShownEdit[]; total: number }) {
  const groups = groupEdits(edits);
  if (groups.length === 0) return null;
  const [first, rest] = [groups.slice(0, LISTED), groups.slice(LISTED)];
  return (
    <section class="panel edits" aria-label={t("repair.edits")}>
      <header>
        <h2>{t("repair.edits")}</h2>
        <span class="muted num">{count(total)}</span>
      </header>
      <div class="inside stack tight">
        {first.map((group, at) => (
          <GroupLine key={at} group={group} />
        ))}
        {rest.length > 0 && (
          <details>
            <summary class="soft">{t("json.more", { n: rest.length })}</summary>
            <div class="stack tight">
              {rest.map((group, at) => (
                <GroupLine key={at} group={group} />
              ))}
            </div>
          </details>
        )}
      </div>
    </section>
  );
}

function GroupLine({ group }: { group: EditGroup }) {
  const { word, edit } = group;
  if (word !== "thinking") return <Edit edit={edit} times={group.count} />;
  return (
    <div class="edit">
      <EditBadge word={word} />
      <span>{plural("repair.thinking.one", "repair.thinking", group.count)}</span>
    </div>
  );
}

/** One edit: what is done, by which rule, and why. */
export function Edit({ edit, times = 1 }: { edit: ShownEdit; times?: number }) {
  const word = editWord(edit.strategy);
  return (
    <div class="edit">
      <EditBadge word={word} />
      {times > 1 && <span class="num muted">×{count(times)}</span>}
      <a class="rule" href={link(["rules", edit.code])}>
        {edit.code} {edit.name}
      </a>
      <span>{editText({ word, note: edit.note, calls: edit.calls })}</span>
    </div>
  );
}

function EditBadge({ word }: { word: string }) {
  return (
    <span class={`badge ${word === "dropped" || word === "thinking" ? "tone-warn" : "tone-run"}`}>
      <EditIcon word={word} />
      <span data-edit={word}>{labelOf("edit", word)}</span>
    </span>
  );
}

export function EditIcon({ word }: { word: string }) {
  return <Icon name={isIcon(word) ? word : word === "thinking" ? "dropped" : "wrench"} />;
}

/** A row of a repair: a message before and after it, with its edits. */
export function RepairRow({ row, edits }: { row: PlanRow; edits: readonly ShownEdit[] }) {
  if (row.kind === "gap") {
    return <p class="gap muted">{plural("repair.gap.one", "repair.gap", row.count)}</p>;
  }
  const before = row.before;
  const after = row.after?.same === true ? before : row.after;
  const own = row.edits.flatMap((at) => edits[at] ?? []);
  const isThinking = own.length > 0 && own.every(({ strategy }) => strategy === "drop-thinking");
  const sides = (
    <div class={`sides kind-${row.kind}`}>
      <Side
        message={before}
        mark={row.kind === "removed" || row.kind === "changed" ? "minus" : ""}
      />
      <Side
        message={after}
        bare={row.after?.same === true}
        mark={row.kind === "added" || row.kind === "changed" ? "plus" : ""}
      />
    </div>
  );
  if (isThinking) {
    return (
      <details class="only-thinking">
        <summary class="muted">
          <EditIcon word="thinking" /> <span class="num">#{(before ?? after)?.index ?? ""}</span>{" "}
          {plural("repair.thinking.one", "repair.thinking", own.length)}
        </summary>
        {sides}
      </details>
    );
  }
  return (
    <>
      {own.map((edit, at) => (
        <Edit key={at} edit={edit} />
      ))}
      {sides}
    </>
  );
}

function Side(props: { message: Message | null; mark: "minus" | "plus" | ""; bare?: boolean }) {
  const { message, mark, bare = false } = props;
  if (message === null) return <div class="side none" />;
  return (
    <div class={`side ${mark} ${bare ? "same" : ""}`}>
      {mark !== "" && (
        <span class="mark">{mark === "plus" ? t("repair.plus") : t("repair.minus")}</span>
      )}
      <MessageHead message={message} />
      <Parts parts={message.parts} bare={bare} />
    </div>
  );
}
