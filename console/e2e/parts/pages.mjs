/** Every page and tab of the console, with a text that shows that it is there. */

const LIST = [
  ["start", "#/start", "need you"],
  ["chat", "#/chat", "Talk to a model"],
  ["several", "#/repair?ids=f-0001,f-0005,f-0003", "can be repaired"],
  ["request", "#/feed/q-1000000", "Request as received"],
  ["sessions", "#/sessions", "Sessions"],
  ["session", "#/sessions/f-0001", "fix the parser"],
  ["findings", "#/sessions/f-0001?tab=findings", "has no result"],
  ["branches", "#/sessions/f-0001?tab=tree", "on the active path"],
  ["cut", "#/sessions/f-0001?tab=cut", "Naive cut"],
  ["records", "#/sessions/f-0001?tab=raw&line=5", "parentUuid"],
  ["repair", "#/sessions/f-0001/repair", "unanswered-call"],
  ["gateway", "#/sessions/s-9c01", "Requests in this session"],
  ["runs", "#/runs", "running"],
  ["run", "#/runs/run-1?call=1+c3", "cargo test"],
  ["run-open", "#/runs/run-open", "Allow Bash"],
  ["run-said", "#/runs/run-1?tab=said", "I look at the lexer"],
  ["run-tasks", "#/runs/run-1?tab=tasks", "Keep empty lines"],
  ["run-events", "#/runs/run-1?tab=events", "run-started"],
  ["run-details", "#/runs/run-1?tab=more", "Events accepted"],
  ["feed", "#/feed", "New requests appear"],
  ["feed-open", "#/feed?id=q-1000000", "What the repair does"],
  ["compaction", "#/compaction", "Naive cut"],
  ["metrics", "#/metrics", "Findings by rule"],
  ["rule", "#/rules/FW101", "recover"],
  ["missing", "#/nothing", "Page not found"],
];

export const PAGES = LIST.map(([name, hash, text]) => ({ name, hash, text }));
