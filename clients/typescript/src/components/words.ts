/** The texts of the components, in English and Chinese. */

import type { Outcome, Reason, Status } from "../status.js";

export interface ChatWords {
  readonly you: string;
  readonly thinking: string;
  readonly prompt: string;
  readonly send: string;
  readonly stop: string;
  readonly stopping: string;
  readonly retry: string;
  readonly tasks: string;
  readonly waiting: string;
  readonly lost: string;
  readonly input: string;
  readonly output: string;
  readonly noOutput: string;
  readonly unnamed: string;
  readonly nested: (count: number) => string;
  readonly failed: string;
  readonly errors: Readonly<Record<string, string>>;
  readonly status: Readonly<Record<Status, string>>;
  readonly reason: Readonly<Record<Reason, string>>;
  readonly outcome: Readonly<Record<Outcome | "unknown", string>>;
  readonly task: Readonly<Record<string, string>>;
  readonly mayHaveRun: string;
  readonly neverStarted: string;
  readonly askTitle: string;
  readonly askMay: (tool: string) => string;
  readonly askElsewhere: string;
  readonly allow: string;
  readonly deny: string;
  readonly answer: string;
  readonly ownAnswer: string;
  readonly denyReason: string;
}

export const en: ChatWords = {
  you: "You",
  thinking: "Thinking",
  prompt: "Message",
  send: "Send",
  stop: "Stop",
  stopping: "Stopping…",
  retry: "Try again",
  tasks: "Tasks",
  waiting: "Waiting for the model…",
  lost: "The connection is lost. The run continues on the gateway; reconnecting.",
  input: "Arguments",
  output: "Result",
  noOutput: "No result yet.",
  unnamed: "(no name)",
  nested: (count) => (count === 1 ? "one call of a sub-agent" : `${count} calls of a sub-agent`),
  failed: "There is no reply",
  errors: {
    unreachable: "The gateway does not respond.",
    lost: "The page was left before the run had started. Try again.",
  },
  status: {
    unknown: "unknown",
    pending: "pending",
    awaiting_approval: "awaiting approval",
    running: "running",
    succeeded: "done",
    failed: "failed",
    denied: "denied",
    cancelled: "never started",
    interrupted: "may have run",
    handed_over: "handed over",
  },
  reason: {
    timed_out: "took too long",
    skipped: "skipped",
    parent_closed: "parent call ended",
    run_ended: "the run ended first",
    called_off: "canceled",
    never_called: "no matching call",
  },
  outcome: {
    completed: "completed",
    stopped: "stopped",
    failed: "failed",
    no_text: "no text",
    max_turns: "turn limit reached",
    refused: "refused",
    replaced: "replaced",
    interrupted: "interrupted",
    unknown: "ended",
  },
  task: {
    unknown: "unknown",
    pending: "to do",
    in_progress: "in progress",
    completed: "done",
    paused: "paused",
  },
  mayHaveRun:
    "The tool was running when the run ended. It may have taken effect: check before you repeat the call.",
  neverStarted: "The tool never started and will not run.",
  askTitle: "The agent needs your input",
  askMay: (tool) => `Allow ${tool} to run?`,
  askElsewhere: "A tool call is waiting for a person. Reply where the agent runs.",
  allow: "Allow",
  deny: "Deny",
  answer: "Answer",
  ownAnswer: "Custom answer",
  denyReason: "Reason for denying (optional)",
};

export const zh: ChatWords = {
  you: "您",
  thinking: "思考",
  prompt: "消息",
  send: "发送",
  stop: "停止",
  stopping: "正在停止…",
  retry: "重试",
  tasks: "任务",
  waiting: "正在等待模型…",
  lost: "连接已断开。运行仍在网关上继续；正在重新连接。",
  input: "参数",
  output: "结果",
  noOutput: "尚无结果。",
  unnamed: "（无名称）",
  nested: (count) => `子智能体的 ${count} 个调用`,
  failed: "没有得到回复",
  errors: {
    unreachable: "网关没有响应。",
    lost: "在运行开始之前页面已离开，请重试。",
  },
  status: {
    unknown: "未知",
    pending: "待处理",
    awaiting_approval: "等待批准",
    running: "运行中",
    succeeded: "成功",
    failed: "失败",
    denied: "被拒绝",
    cancelled: "未启动",
    interrupted: "可能已执行",
    handed_over: "已转交",
  },
  reason: {
    timed_out: "超时",
    skipped: "已跳过",
    parent_closed: "上级调用已结束",
    run_ended: "运行先结束",
    called_off: "被取消",
    never_called: "没有对应的调用",
  },
  outcome: {
    completed: "已完成",
    stopped: "已停止",
    failed: "失败",
    no_text: "没有文本",
    max_turns: "轮次用尽",
    refused: "拒绝回答",
    replaced: "被取代",
    interrupted: "被中断",
    unknown: "已结束",
  },
  task: {
    unknown: "未知",
    pending: "待办",
    in_progress: "进行中",
    completed: "完成",
    paused: "已暂停",
  },
  mayHaveRun: "运行结束时工具仍在执行，可能已经产生影响：重复调用之前请先检查。",
  neverStarted: "它从未启动，也不会再启动。",
  askTitle: "智能体需要您的答复",
  askMay: (tool) => `允许 ${tool} 运行吗？`,
  askElsewhere: "有调用正在等待人工，请在智能体运行的地方答复。",
  allow: "允许",
  deny: "拒绝",
  answer: "回答",
  ownAnswer: "自定义回答",
  denyReason: "拒绝原因（可选）",
};
