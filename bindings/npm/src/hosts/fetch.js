// `fetch` for any SDK: the body of a request to a model is repaired before it is sent.

import { fix, FoxwedgeError } from "foxwedge";

/** What the last part of a provider's path says about the body. */
const ENDPOINTS = [
  [/\/chat\/completions$/, "openai-chat"],
  [/\/responses$/, "openai-responses"],
  [/\/messages$/, "anthropic"],
  [/:(generateContent|streamGenerateContent)$/, "gemini"],
];

/** A `fetch` that repairs. `onRepair` gets the report of every body that was changed. */
export function repairingFetch({ fetch: send = globalThis.fetch, onRepair, ...options } = {}) {
  return async (resource, init) => {
    const body = init?.body;
    const format = formatOf(resource);
    if (format === undefined || !(typeof body === "string" || body instanceof Uint8Array)) return send(resource, init);
    const report = repaired(body, { format, ...options });
    if (!report?.changed) return send(resource, init);
    onRepair?.(report);
    const headers = new Headers(init.headers);
    headers.delete("content-length");
    return send(resource, { ...init, headers, body: report.document });
  };
}

function formatOf(resource) {
  const { pathname } = new URL(resource instanceof Request ? resource.url : resource, "http://localhost");
  return ENDPOINTS.find(([path]) => path.test(pathname))?.[1];
}

/** A body that cannot be read is sent as it is: the provider tells what is wrong with it. */
function repaired(body, options) {
  try {
    return fix(body, options);
  } catch (error) {
    if (error instanceof FoxwedgeError && error.kind !== "invalid-options") return undefined;
    throw error;
  }
}
