/**
 * Replays logs for comparison with the Rust reducer: reads one log per line of JSON, and writes one
 * line with its effects and state.
 */

import { createInterface } from "node:readline";

import {
  type Answer,
  type Effect,
  type SessionOptions,
  createSession,
  writeEvent,
} from "../src/index.js";

interface Log {
  readonly settings: SessionOptions;
  readonly steps: readonly Step[];
}

interface Step {
  readonly now: number;
  readonly line?: string;
  readonly answer?: Answer;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(replay(JSON.parse(line) as Log))}\n`);
}

function replay({ settings, steps }: Log): unknown {
  const session = createSession(settings);
  const results = steps.map((step) => {
    const effects: Effect[] = [];
    let routed: string | undefined;
    if (step.line !== undefined) {
      effects.push(...session.apply(step.line, step.now));
    } else if (step.answer !== undefined) {
      const route = session.route(step.answer);
      routed = route.type === "refused" ? route.code : route.type;
      if (route.type === "deliver") effects.push(...session.apply(route.event, step.now));
    } else {
      effects.push(...session.tick(step.now));
    }
    return { routed, effects: effects.map(toJson), deadline: session.deadline() };
  });
  return { told: results, truth: session.truth(), snapshot: session.snapshot() };
}

function toJson(effect: Effect): unknown {
  if (effect.type === "warn" && effect.warning.code === "unreadable") {
    return { type: "unreadable", why: effect.warning.why };
  }
  return effect.type === "emit" ? { type: "emit", event: writeEvent(effect.event) } : effect;
}
