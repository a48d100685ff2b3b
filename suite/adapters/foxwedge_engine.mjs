// Foxwedge's own package for Node, which is WebAssembly: check, fix, compact, convert.
import { load, serve, Skip } from './lines.mjs';

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
  throw new Skip('the package converts streams, but keeps no history of them');
});
