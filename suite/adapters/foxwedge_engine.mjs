// Foxwedge's own package for Node, which is WebAssembly.
import { load, serve } from './lines.mjs';

const foxwedge = await load('foxwedge');

/** Compacts to fewer and fewer tokens until few enough messages are left. */
function cut(document, keep, options) {
  for (let maxTokens = document.length; ; ) {
    const shorter = foxwedge.compact(JSON.parse(document), { maxTokens, ...options });
    if (shorter.messages.length <= keep) return shorter.document;
    maxTokens = shorter.tokensAfter - 1;
  }
}

await serve('foxwedge', async ({ input, track, format, profile, target, keep }) => {
  const options = profile === 'ai-sdk' ? {} : { profile };
  if (track === 'convert') return { output: foxwedge.convert(input, { from: format, to: target, ...options }).document };
  options.format = format;
  if (track === 'validate') {
    const { valid, findings } = foxwedge.check(input, options);
    return { valid, message: findings.find(({ severity }) => severity === 'error')?.index };
  }
  if (track === 'repair') return { output: foxwedge.fix(input, options).document };
  if (track === 'cut') return { output: cut(input, keep, options) };
  const stream = new foxwedge.StreamConverter({ from: format, to: format });
  stream.push(input);
  return { output: stream.finish().messages };
});
