/** Maps the strategies of a repair to the `edit.*` texts. */

const LABELS: Readonly<Record<string, string>> = {
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

export function editLabel(strategy: string): string {
  return LABELS[strategy] ?? strategy;
}
