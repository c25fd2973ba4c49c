// Changes of the items of a repeatable component or a zone.
import { type Item, keyOf } from "./value.ts";

export function itemsOf(value: unknown): Item[] {
  return Array.isArray(value) ? (value as Item[]) : [];
}

// replaceItem returns the items with one of them changed.
export function replaceItem(items: Item[], key: string, change: (item: Item) => Item): Item[] {
  return items.map((item) => (keyOf(item) === key ? change(item) : item));
}

export function insertItem(items: Item[], at: number, item: Item): Item[] {
  return [...items.slice(0, at), item, ...items.slice(at)];
}

export function removeItem(items: Item[], key: string): Item[] {
  return items.filter((item) => keyOf(item) !== key);
}

// moveItem moves an item to an index, as if the list were without it.
export function moveItem(items: Item[], key: string, to: number): Item[] {
  return moved(items, (item) => keyOf(item) === key, to);
}

// moved returns a list with the entry that is meant at an index, as if the list were without it.
export function moved<T>(list: T[], isMeant: (entry: T) => boolean, to: number): T[] {
  const entry = list.find(isMeant);
  const rest = list.filter((other) => other !== entry);
  return entry === undefined ? list : [...rest.slice(0, to), entry, ...rest.slice(to)];
}

// summaryOf returns the first text of an item, which tells it from others while it is collapsed.
export function summaryOf(item: Item, names: string[]): string {
  for (const name of names) {
    const value = item[name];
    if (typeof value === "string" && value.trim() !== "") return value.slice(0, 80);
  }
  return "";
}
