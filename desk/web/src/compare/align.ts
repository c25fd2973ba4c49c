// Two lists beside each other: which entries are the same, which are gone or new, and which have moved.

// A Row is an entry of both lists, or of one of them.
export interface Row<T> {
  before?: T;
  after?: T;
  isMoved: boolean;
}

// A Pairing says for each entry of the list after which one of the list before it is; -1 for a new one.
export type Pairing = number[];

// aligned returns the rows of two lists: in the order of the list after, with what is gone where it was.
export function aligned<T>(before: T[], after: T[], pairing: Pairing): Row<T>[] {
  const kept = new Set(pairing);
  const still = longestRising(pairing);
  const rows: Row<T>[] = [];
  let next = 0; // of the list before
  const gone = (to: number) => {
    for (; next < to; next++) if (!kept.has(next)) rows.push({ before: before[next]!, isMoved: false });
  };
  pairing.forEach((of, i) => {
    if (of < 0) return rows.push({ after: after[i]!, isMoved: false });
    const isMoved = !still.has(i);
    if (!isMoved) gone(of);
    return rows.push({ before: before[of]!, after: after[i]!, isMoved });
  });
  gone(before.length);
  return rows;
}

// pair finds for each key of a list the first equal one of the other that is still free. Keys that are null are no one's.
export function pair(before: (string | null)[], after: (string | null)[], found: Pairing = after.map(() => -1)): Pairing {
  const taken = new Set(found);
  const free = new Map<string, number[]>();
  before.forEach((key, i) => {
    if (key !== null && !taken.has(i)) free.set(key, [...(free.get(key) ?? []), i]);
  });
  return after.map((key, i) => (found[i]! >= 0 || key === null ? found[i]! : (free.get(key)?.shift() ?? -1)));
}

// longestRising returns the places of the longest sequence of rising numbers in a list, negative ones left out: what is
// not in it has moved.
function longestRising(list: number[]): Set<number> {
  const ends: number[] = []; // the place of the least end of a sequence of each length
  const previous: number[] = [];
  list.forEach((n, i) => {
    if (n < 0) return;
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (list[ends[middle]!]! < n) low = middle + 1;
      else high = middle;
    }
    previous[i] = ends[low - 1] ?? -1;
    ends[low] = i;
  });
  const places = new Set<number>();
  for (let i = ends.at(-1) ?? -1; i >= 0; i = previous[i]!) places.add(i);
  return places;
}
