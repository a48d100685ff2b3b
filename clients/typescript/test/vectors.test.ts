import assert from "node:assert/strict";
import { test } from "node:test";

import { type Effect, type Session, createSession, writeEvent } from "../src/index.js";
import { type Input, type Vector, otherOrders, vectors } from "./vectors.js";

for (const vector of vectors()) {
  test(`${vector.file}: ${vector.name}`, () => {
    const session = createSession(vector.settings);
    const effects = vector.inputs.flatMap((input) => applyInput(session, input));
    assert.deepEqual(session.truth(), vector.truth);
    assert.deepEqual(announced(effects), vector.announced);
    assert.deepEqual(warnings(effects), vector.warnings);
    if (vector.resolved !== undefined) assert.deepEqual(resolved(effects), vector.resolved);
    if (vector.counts !== undefined) assert.deepEqual(session.snapshot(), snapshot(vector));
    invariants(session, effects);
  });

  test(`${vector.file}: in other orders`, () => {
    for (const inputs of otherOrders(vector)) {
      const session = createSession(vector.settings);
      const effects = [...inputs, ...inputs].flatMap((input) => applyInput(session, input));
      assert.deepEqual(session.truth(), vector.truth, JSON.stringify(inputs));
      assert.deepEqual(announced(effects), vector.announced, JSON.stringify(inputs));
    }
  });

  test(`${vector.file}: its log again`, () => {
    if (vector.replay !== true) return;
    const session = createSession(vector.settings);
    const log = emitted(vector.inputs.flatMap((input) => applyInput(session, input)));
    const again = createSession(vector.settings);
    const effects = log.flatMap((line) => again.apply(line, 0));
    assert.deepEqual(again.truth(), vector.truth);
    assert.deepEqual(announced(effects), vector.announced);
    assert.deepEqual(emitted(effects), log);
  });
}

test("every behavior and every defect of the original has a vector", () => {
  const named = new Set(vectors().flatMap((vector) => vector.name.split(" ")));
  const numbers = (head: string, last: number) =>
    Array.from({ length: last }, (_, at) => `${head}${at + 1}`);
  const needed = [...numbers("b3_", 18), ...numbers("d", 9), ...numbers("acceptance_", 4)];
  assert.deepEqual(
    needed.filter((id) => !named.has(id)),
    [],
  );
});

function applyInput(session: Session, input: Input): Effect[] {
  if (input.event !== undefined) return session.apply(input.event, input.now);
  if (input.line !== undefined) return session.apply(input.line, input.now);
  if (input.answer === undefined) return session.tick(input.now);
  const routed = session.route(input.answer);
  assert.equal(routed.type === "refused" ? routed.code : routed.type, input.routed);
  return routed.type === "deliver" ? session.apply(routed.event, input.now) : [];
}

/** Invariants that hold for any input. */
function invariants(session: Session, effects: Effect[]): void {
  for (const line of emitted(effects)) {
    const { toolCallId, toolId } = JSON.parse(line) as { toolCallId?: string; toolId?: string };
    assert.equal(toolCallId, toolId);
  }
  for (const effect of effects) {
    if (effect.type !== "announce") continue;
    const run = session.truth().runs.find(({ id }) => id === effect.run);
    if (run !== undefined) assert.equal(effect.ended.text, run.text);
  }
}

function snapshot({ truth, counts }: Vector): unknown {
  const runs = truth.runs.map((run, at) => ({ ...run, counts: counts?.runs[at] }));
  return { ...truth, runs, waiting: counts?.waiting, dropped: counts?.dropped };
}

function announced(effects: Effect[]): unknown[] {
  return effects.flatMap((effect) =>
    effect.type === "announce" ? [[effect.run, effect.ended.outcome]] : [],
  );
}

function warnings(effects: Effect[]): string[] {
  return effects.flatMap((effect) => (effect.type === "warn" ? [effect.warning.code] : []));
}

function resolved(effects: Effect[]): unknown[] {
  return effects.flatMap((effect) => {
    if (effect.type !== "resolve") return [];
    const { run, tool, id, resolution } = effect;
    return [[run, tool.call, id, resolution.type === "replied" ? resolution.verdict : "cancelled"]];
  });
}

function emitted(effects: Effect[]): string[] {
  return effects.flatMap((effect) => (effect.type === "emit" ? [writeEvent(effect.event)] : []));
}
