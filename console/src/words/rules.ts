/**
 * Findings, edits and rules in the chosen language. The server writes them in English; their
 * Chinese is made here, from the rule, the kind of the edit and the calls.
 */

import { language } from "../settings.js";
import { RULES_ZH } from "./rules-zh.js";

/** What an edit does, by its kind. `{calls}` are the calls it is about. */
const EDITS_ZH: Readonly<Record<string, string>> = {
  recovered: "把真实的结果移回它的调用之后{calls}",
  answered: "补上占位结果，说明没有得到结果{calls}",
  moved: "调整内容的顺序{calls}",
  merged: "合并消息{calls}",
  split: "拆分消息{calls}",
  renamed: "在调用和结果两边改写 ID 或名称{calls}",
  dropped: "移除内容{calls}",
  thinking: "移除已签名的思考：它绑定于被修改之前的历史{calls}",
  quoted: "把结果改写为用户文本{calls}",
  respelled: "按服务商的要求重新编码相同的内容{calls}",
  inserted: "插入一条简短的消息或声明{calls}",
};

/** Which edits matter most; the list of edits is in this order. */
export const EDIT_ORDER: readonly string[] = [
  "answered",
  "recovered",
  "moved",
  "quoted",
  "inserted",
  "renamed",
  "merged",
  "split",
  "respelled",
  "dropped",
  "thinking",
];

const WORDS: Readonly<Record<string, string>> = {
  recover: "recovered",
  synthesize: "answered",
  reorder: "moved",
  merge: "merged",
  split: "split",
  rename: "renamed",
  drop: "dropped",
  "drop-thinking": "thinking",
  quote: "quoted",
  recode: "respelled",
  insert: "inserted",
};

/** The name of an `edit.*` text for a strategy of a repair. */
export function editWord(strategy: string): string {
  return WORDS[strategy] ?? strategy;
}

/** What a rule finds. */
export function ruleSummary(code: string, english: string): string {
  return language.value === "zh" ? (RULES_ZH[code] ?? english) : english;
}

/** A finding as a sentence. */
export function findingText(finding: {
  readonly code: string;
  readonly message: string;
  readonly tool?: string | null;
  readonly calls: readonly string[];
}): string {
  const summary = RULES_ZH[finding.code];
  if (language.value !== "zh" || summary === undefined) return finding.message;
  const names = [finding.tool ?? "", ...finding.calls].filter((name) => name !== "");
  return names.length === 0 ? summary : `${summary}：${names.join(" ")}`;
}

/** An edit as a sentence. */
export function editText(edit: {
  readonly word: string;
  readonly note: string;
  readonly calls: readonly string[];
}): string {
  const text = EDITS_ZH[edit.word];
  if (language.value !== "zh" || text === undefined) return edit.note;
  return text.replace("{calls}", edit.calls.length === 0 ? "" : `（${edit.calls.join("、")}）`);
}
