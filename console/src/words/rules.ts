/**
 * Findings, edits and rules in the chosen language. The server writes them in English; their
 * Chinese is made here, from the rule, the kind of the edit and the calls.
 */

import { language } from "../settings.js";

/** What each rule finds. `cargo xtask tidy` checks that no rule is missing. */
const RULES_ZH: Readonly<Record<string, string>> = {
  FW101: "工具调用没有结果",
  FW102: "工具结果没有对应的调用",
  FW103: "工具结果的位置不对",
  FW104: "同一个工具调用有第二个结果",
  FW105: "同一轮的工具结果分散在多条消息中",
  FW106: "并行的工具调用分散在多条助手消息中",
  FW107: "工具结果的工具名与调用不一致",
  FW108: "一条消息中有超过 128 个工具调用",
  FW109: "工具结果的类型与它的调用不符",
  FW201: "同一轮有两个 ID 相同的工具调用",
  FW202: "调用 ID 在更早的轮次中已经用过",
  FW203: "调用 ID 的字符或长度不被服务商接受",
  FW204: "工具调用没有 ID",
  FW205: "条目 ID 带有另一种类型的前缀",
  FW206: "思考条目只存在于服务器的存储中",
  FW207: "工具名的字符或长度不被服务商接受",
  FW301: "消息为空",
  FW302: "工具调用的参数不符合格式",
  FW303: "工具结果没有内容",
  FW304: "工具调用、工具结果或思考位于角色不对的消息中",
  FW305: "工具结果位于同一消息的其他内容之后",
  FW306: "同一消息中工具调用之后还有文本",
  FW307: "工具结果含有媒体，而此处只允许文本",
  FW308: "文本块为空",
  FW309: "工具调用列表为空",
  FW310: "工具结果与其他内容共用一条消息",
  FW311: "带工具调用的消息内容为 null",
  FW312: "最后一条助手消息以空白结尾",
  FW313: "孤立的代理项：半个字符",
  FW314: "请求中没有消息",
  FW315: "工具结果的内容不符合格式",
  FW316: "工具调用没有有效的类型",
  FW401: "历史不是以用户消息开头",
  FW402: "同一角色的两条消息相连",
  FW403: "请求以助手消息结尾",
  FW404: "工具结果之后紧接着用户消息",
  FW405: "历史中有工具调用，请求中却没有声明工具",
  FW406: "系统消息位于服务商不接受的位置",
  FW407: "服务商不认识的角色",
  FW501: "思考缺少它所引出的内容",
  FW502: "工具调用缺少服务商要求的思考",
  FW503: "思考缺少服务商要求的签名",
  FW601: "服务商自行运行的工具调用没有完成",
  FW602: "服务商自有工具的结果没有对应的调用",
  FW603: "未知类型的块旁边有缺少另一半的调用或结果",
  FW604: "引用了请求中没有声明的工具",
  FW605: "压缩请求不是最后一项",
  FW701: "记录的上级不在文件中",
  FW702: "工具结果不在通向最后一条消息的路径上",
  FW703: "两条记录的 ID 相同",
  FW704: "记录互为上级，形成循环",
  FW801: "这一行不是完整的记录",
  FW802: "记录的位置上是 NUL 字节",
  FW803: "这一行不是 UTF-8",
  FW804: "记录太大，任何请求都放不下",
  FW805: "记录缺少它的代理所需的字段",
};

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
