// The integrity suite in a browser: vectors and judge are in suite.wasm, the engine is ours or an adapter.

const TEMPLATE = `// A module with one function: it takes a question and returns its answer (SPEC.md, 3).
// Packages can be imported from any address that serves modules.
export const name = "mine 1.0";

export async function answer(question) {
  if (question.track !== "repair" || question.format !== "openai-chat") return { skip: "not done here" };
  const messages = JSON.parse(question.input);
  return { output: messages };
}
`;

const byId = (id) => document.getElementById(id);
const encoder = new TextEncoder();
const decoder = new TextDecoder();
byId("source").value = TEMPLATE;

/** The exports of the module, with texts instead of pointers. */
async function loadSuite() {
  const { instance } = await WebAssembly.instantiateStreaming(fetch("suite.wasm"));
  const { memory, input, output_pointer, output_length, ...calls } = instance.exports;
  const write = (text) => {
    const bytes = encoder.encode(text);
    const at = input(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    return bytes.length;
  };
  const output = () => decoder.decode(new Uint8Array(memory.buffer, output_pointer(), output_length()));
  return {
    start: (vectors) => calls.start(write(vectors)),
    question: () => (calls.question() ? output() : undefined),
    answer: (line) => calls.answer(write(line)),
    ask: (line) => (calls.ask(write(line)), output()),
    results: (form) => (calls.results(form), output()),
  };
}

/** The adapter in the text field, as a function from line to line. */
async function loadAdapter(source) {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const adapter = await import(url).finally(() => URL.revokeObjectURL(url));
  if (typeof adapter.answer !== "function") throw new Error("the adapter exports no function `answer`");
  return async (line) => {
    const { id, ...question } = JSON.parse(line);
    let answer;
    try {
      answer = await adapter.answer({ id, ...question });
    } catch (error) {
      answer = { error: String(error) };
    }
    return JSON.stringify({ engine: adapter.name, ...answer, id });
  };
}

async function run() {
  const suite = await loadSuite();
  const own = new FormData(byId("form")).get("engine") === "foxwedge";
  const engine = own ? (line) => suite.ask(line) : await loadAdapter(byId("source").value);
  const vectors = await fetch("vectors.jsonl");
  const total = suite.start((await vectors.text()).trim());
  if (total === 0) throw new Error("the vectors cannot be read");
  byId("progress").max = total;
  let painted = performance.now();
  for (let line = suite.question(); line !== undefined; line = suite.question()) {
    const done = suite.answer(await engine(line));
    if (performance.now() - painted > 50) {
      show(done, total);
      await new Promise((resolve) => setTimeout(resolve));
      painted = performance.now();
    }
  }
  show(total, total);
  byId("table").textContent = suite.results(0);
  const badge = document.createElement("img");
  badge.alt = "badge";
  const files = [["results.json", 1, "application/json"], ["junit.xml", 2, "application/xml"], ["badge.svg", 3, "image/svg+xml"]];
  byId("files").replaceChildren(...files.map(([name, form, type]) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([suite.results(form)], { type }));
    link.download = link.textContent = name;
    if (form === 3) badge.src = link.href;
    return link;
  }));
  byId("badge").replaceChildren(badge);
}

function show(done, total) {
  byId("progress").value = done;
  byId("count").textContent = `${done} of ${total}`;
}

byId("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  byId("error").textContent = byId("table").textContent = "";
  try {
    await run();
  } catch (error) {
    byId("error").textContent = error.message;
  } finally {
    button.disabled = false;
  }
});
