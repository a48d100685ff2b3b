/** A sliced list that is closed when its component unmounts. */

import { useEffect, useMemo } from "preact/hooks";

import { Slices } from "../../data/slices.js";
import type { Sliced } from "../../data/types.js";

export function useSlices<T>(
  key: string,
  load: (from: number, limit: number, signal: AbortSignal) => Promise<Sliced<T>>,
  start = 0,
  first = 0,
): Slices<T> {
  const slices = useMemo(() => new Slices<T>(load, first), [key]);
  useEffect(() => {
    slices.setVisible(start, start + 1);
    return () => slices.close();
  }, [slices]);
  return slices;
}
