/** The strategies of a repair, as people call them. */

const WORDS: Readonly<Record<string, string>> = {
  recover: "recovered",
  synthesize: "answered",
  reorder: "moved",
  merge: "merged",
  split: "split",
  rename: "renamed",
  drop: "dropped",
  quote: "quoted",
  recode: "respelled",
  insert: "inserted",
};

export function wordOf(strategy: string): string {
  return WORDS[strategy] ?? strategy;
}
