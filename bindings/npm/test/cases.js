// Compares what a module says with a table that the engine wrote outside of WebAssembly. Each line is
// `{ operation, options, document, report, result, error }`; texts are compared byte for byte.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** How many lines were compared, and the first differences. */
export function compareCases(engines, table) {
  const differences = [];
  const lines = table.split("\n").filter((line) => line !== "");
  for (const [at, line] of lines.entries()) {
    const expected = JSON.parse(line);
    const found = called(engines, expected);
    for (const name of ["error", "report", "result"]) {
      if (found[name] === (expected[name] ?? null)) continue;
      if (differences.length < 5) differences.push(`line ${at + 1}, ${name}: ${found[name]} instead of ${expected[name]}`);
    }
  }
  return { compared: lines.length, differences };
}

/** The same for agents that are followed: each line is `{ name, options, steps }`. */
export function compareFollowed(engine, table) {
  const differences = [];
  let compared = 0;
  for (const line of table.split("\n").filter((line) => line !== "")) {
    const { name, options, steps } = JSON.parse(line);
    const handle = engine.openFollower(options);
    for (const [at, { step, body, now, events, report }] of steps.entries()) {
      const reply = engine.stepFollower(handle, step, body, now ?? undefined);
      const found = [decoder.decode(reply.document), JSON.stringify(reply.report)];
      compared += 1;
      if (found[0] === events && found[1] === report) continue;
      if (differences.length < 5) differences.push(`${name}, step ${at + 1}: ${found} instead of ${[events, report]}`);
    }
    engine.closeFollower(handle);
  }
  return { compared, differences };
}

function called(engines, { operation, options, document }) {
  try {
    const settings = options === "" ? undefined : JSON.parse(options);
    // What one document needed says nothing about the next one.
    engines.smallest = 0;
    const { report, document: result } = engines.call(operation, encoder.encode(document), settings);
    return { error: null, report: JSON.stringify(report), result: result && decoder.decode(result) };
  } catch (error) {
    return { error: error.kind ?? String(error), report: null, result: null };
  }
}
